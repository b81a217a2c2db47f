"""What is kept, and where: tables, connections, migrations, backups."""
