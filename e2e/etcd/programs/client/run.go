package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

// run works until ctx ends. Whatever was begun is recorded.
func run(ctx context.Context, s settings) error {
	kv, err := connect(s.endpoints...)
	if err != nil {
		return err
	}
	defer kv.Close()
	records, err := os.OpenFile(s.out, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the history (a client never goes on with that of another): %w", err)
	}
	r := &recorder{file: records}
	var workers sync.WaitGroup
	for i := range s.workers {
		w := &worker{settings: s, number: i, name: fmt.Sprintf("%s-%d", s.name, i), kv: kv, record: r}
		workers.Go(func() { w.work(ctx) })
	}
	workers.Wait()
	return errors.Join(r.err, records.Close())
}

// recorder writes one operation a line.
type recorder struct {
	sync.Mutex
	file *os.File
	err  error
}

func (r *recorder) add(op history.Operation) {
	line, err := json.Marshal(op)
	r.Lock()
	defer r.Unlock()
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

// worker has one operation in flight.
type worker struct {
	settings
	number int
	name   string
	kv     *clientv3.Client
	record *recorder
}

// work begins with writes and reads in turn, each of another register.
func (w *worker) work(ctx context.Context) {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for n := 0; ; n++ {
		op := history.Operation{Client: w.name, Kind: history.Write, Key: fmt.Sprintf("%s%d", history.Registers, (w.number+n/2)%w.keys)}
		if n%2 == 1 {
			op.Kind = history.Read
		} else {
			op.Value = fmt.Sprintf("%s-%d", w.name, n)
			op.Entry = history.Entries + op.Value
		}
		w.record.add(w.do(op))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// do carries an operation out. The end of the client does not cut it short: it would leave
// outcomes unknown for nothing.
func (w *worker) do(op history.Operation) history.Operation {
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	var err error
	op.Start = time.Now()
	if op.Kind == history.Write {
		_, err = w.kv.Txn(ctx).Then(clientv3.OpPut(op.Key, op.Value), clientv3.OpPut(op.Entry, op.Value)).Commit()
	} else {
		op.Value, err = w.read(ctx, op.Key)
	}
	op.End = time.Now()
	op.Outcome = history.OK
	if err != nil {
		op.Error, op.Outcome = err.Error(), history.Failed
		if op.Kind == history.Write {
			op.Outcome = history.Unknown // even one that was refused: it may have reached another member before
		}
	}
	return op
}

func (w *worker) read(ctx context.Context, key string) (string, error) {
	answer, err := w.kv.Get(ctx, key)
	if err != nil || len(answer.Kvs) == 0 {
		return "", err
	}
	return string(answer.Kvs[0].Value), nil
}
