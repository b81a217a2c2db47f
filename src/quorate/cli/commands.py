"""A group of commands whose errors are one line that names options and arguments as the user typed them."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from quorate.cli.output import option_names, plain_errors


class Commands(TyperGroup):
    """Runs a command with plain errors, also under the test runner."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401
        """Run the command."""
        with plain_errors(lambda: option_names(self.get_command(ctx, ctx.invoked_subcommand or ""))):
            return super().invoke(ctx)
