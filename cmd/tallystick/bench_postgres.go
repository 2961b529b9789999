package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tallystick/events"
)

// postgresClients is how many connections write to PostgreSQL at once.
const postgresClients = 64

// rushPostgres stores what a rush stored in a table of PostgreSQL: one row an
// event, one transaction a command, as an event store on it does. It returns
// commands a second.
func (b *bench) rushPostgres(r rush, did work) (rate float64, err error) {
	admin, err := pgx.Connect(b.ctx, b.postgres)
	if err != nil {
		return 0, err
	}
	defer admin.Close(context.WithoutCancel(b.ctx))
	for setting, want := range map[string]string{"synchronous_commit": "on", "fsync": "on"} {
		var is string
		if err := admin.QueryRow(b.ctx, "SHOW "+setting).Scan(&is); err != nil {
			return 0, err
		}
		if is != want {
			return 0, fmt.Errorf("no ratio: PostgreSQL has %s = %s", setting, is)
		}
	}
	const schema = `DROP TABLE IF EXISTS tallystick_bench;
		CREATE TABLE tallystick_bench (campaign uuid NOT NULL, n bigint NOT NULL, record text NOT NULL, UNIQUE (campaign, n))`
	if _, err := admin.Exec(b.ctx, schema); err != nil {
		return 0, err
	}
	defer func() {
		if _, failed := admin.Exec(context.WithoutCancel(b.ctx), "DROP TABLE tallystick_bench"); err == nil {
			err = failed
		}
	}()
	clients := make([]*pgx.Conn, min(postgresClients, len(r.twins)))
	for i := range clients {
		if clients[i], err = pgx.Connect(b.ctx, b.postgres); err != nil {
			return 0, err
		}
		defer clients[i].Close(context.WithoutCancel(b.ctx))
	}
	begun := time.Now()
	err = together(len(clients), func(c int) error {
		next := make([]int64, len(r.twins))
		for k := range r.commands[0] {
			for i := c; i < len(r.twins); i += len(clients) {
				lines := events.SplitCommit(r.payloads[i][k])
				if err := insert(b.ctx, clients[c], r.twins[i], next[i], lines); err != nil {
					return err
				}
				next[i] += int64(len(lines))
			}
		}
		return nil
	})
	took := time.Since(begun)
	if err != nil {
		return 0, err
	}
	reference, err := postgresWork(b.ctx, admin, r)
	if err != nil {
		return 0, err
	}
	return float64(did.count) / took.Seconds(), same("append, PostgreSQL", did, reference)
}

// insert is one transaction: a statement by itself is one.
func insert(ctx context.Context, client *pgx.Conn, campaign string, n int64, lines [][]byte) error {
	var values []string
	args := []any{campaign}
	for i, line := range lines {
		values = append(values, fmt.Sprintf("($1, $%d, $%d)", 2*i+2, 2*i+3))
		args = append(args, n+int64(i), string(line))
	}
	_, err := client.Exec(ctx, "INSERT INTO tallystick_bench VALUES "+strings.Join(values, ", "), args...)
	return err
}

func postgresWork(ctx context.Context, conn *pgx.Conn, r rush) (work, error) {
	all := make([][][]byte, len(r.twins))
	for i, campaign := range r.twins {
		rows, err := conn.Query(ctx, "SELECT record FROM tallystick_bench WHERE campaign = $1 ORDER BY n", campaign)
		if err != nil {
			return work{}, err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return work{}, err
		}
		for at := 0; at+threeEvents <= len(lines); at += threeEvents {
			all[i] = append(all[i], bytes.Join([][]byte{[]byte(lines[at]), []byte(lines[at+1]), []byte(lines[at+2])}, []byte{'\n'}))
		}
	}
	return workOf(all), nil
}
