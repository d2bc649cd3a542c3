package migration
