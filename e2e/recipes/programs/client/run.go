package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
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

// run writes until ctx ends. Whatever was begun is recorded.
func run(ctx context.Context, s settings) error {
	db, err := s.open(s.members...)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := prepare(ctx, db); err != nil {
		return err
	}
	file, err := os.OpenFile(s.out, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the record (a client never goes on with that of another): %w", err)
	}
	r := &recorder{file: file}
	var workers sync.WaitGroup
	for i := range s.workers {
		workers.Go(func() { s.work(ctx, fmt.Sprintf("%s-%d", s.name, i), db, r) })
	}
	workers.Wait()
	return errors.Join(r.err, file.Close())
}

// prepare tries for a while: another client may do the same at once.
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

// recorder writes one line a write.
type recorder struct {
	sync.Mutex
	file *os.File
	err  error
}

func (r *recorder) add(w write) {
	line, err := json.Marshal(w)
	r.Lock()
	defer r.Unlock()
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

// work has one write in flight. The end of the client does not cut it short: it would leave outcomes
// unknown for nothing.
func (s settings) work(ctx context.Context, name string, db database, r *recorder) {
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for n := 0; ; n++ {
		w := write{Client: name, Value: fmt.Sprintf("%s-%d", name, n), Start: time.Now()}
		within, cancel := context.WithTimeout(context.Background(), s.timeout)
		err := db.Write(within, w.Value)
		cancel()
		w.End, w.Acknowledged = time.Now(), err == nil
		if err != nil {
			w.Error = err.Error()
		}
		r.add(w)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
