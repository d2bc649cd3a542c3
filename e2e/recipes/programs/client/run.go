package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/e2e/steady"
)

// write is a line of the record.
type write struct {
	Client       string    `json:"client"`
	Value        string    `json:"value"`
	Start        time.Time `json:"start"`
	End          time.Time `json:"end"`
	Acknowledged bool      `json:"acknowledged"`
	Error        string    `json:"error,omitempty"`
}

// run writes until ctx ends.
func (s *settings) run(ctx context.Context) error {
	db, err := s.open(s.members()...)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := prepare(ctx, db); err != nil {
		return err
	}
	return s.Work(ctx, func(within context.Context, by steady.Worker) any {
		w := write{Client: by.Name, Value: fmt.Sprintf("%s-%d", by.Name, by.N), Start: time.Now()}
		err := db.Write(within, w.Value)
		w.End, w.Acknowledged = time.Now(), err == nil
		if err != nil {
			w.Error = err.Error()
		}
		return w
	})
}

// prepare retries for a while: another client may do the same at that time.
func prepare(ctx context.Context, db database) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := db.Prepare(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}
