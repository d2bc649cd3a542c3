package main

import (
	"context"
	"fmt"
	"time"
)

// found holds the values of one copy.
type found struct {
	Member string   `json:"member"`
	Values []string `json:"values"`
}

// final requests everything that was written from each copy separately. A replica gets some time to catch up with the
// first copy.
func (s *settings) final(ctx context.Context) error {
	const patience = time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all []found
	names, open := s.copies()
	for _, member := range names {
		db, err := open[member]()
		if err != nil {
			return err
		}
		values, err := caughtUp(ctx, db, all)
		db.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", member, err)
		}
		all = append(all, found{member, values})
	}
	return s.Keep(all)
}

// caughtUp returns the values of a copy once it has as many as the first, or at the timeout.
func caughtUp(ctx context.Context, db database, before []found) ([]string, error) {
	for {
		values, err := db.Values(ctx)
		if err == nil && (len(before) == 0 || len(values) >= len(before[0].Values)) {
			return values, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return values, err
		}
	}
}
