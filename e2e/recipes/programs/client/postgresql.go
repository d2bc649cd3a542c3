package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresql is one server, with connections that are reopened when they break.
type postgresql struct{ pool *pgxpool.Pool }

func openPostgreSQL(host string) (database, error) {
	pool, err := pgxpool.New(context.Background(), fmt.Sprintf("postgres://postgres@%s:5432/postgres?connect_timeout=1&sslmode=disable", host))
	return &postgresql{pool}, err
}

func (p *postgresql) Prepare(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, "create table if not exists entries (value text primary key)")
	return err
}

func (p *postgresql) Write(ctx context.Context, value string) error {
	_, err := p.pool.Exec(ctx, "insert into entries values ($1)", value)
	return err
}

func (p *postgresql) Values(ctx context.Context) ([]string, error) {
	rows, err := p.pool.Query(ctx, "select value from entries")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (p *postgresql) Close() { p.pool.Close() }
