"""The database: tables, connections, migrations, backups."""
