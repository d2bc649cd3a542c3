package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
	"github.com/sliceshift/sliceshift/e2e/steady"
)

// run performs operations until ctx ends.
func (s *settings) run(ctx context.Context) error {
	kv, err := connect(s.members()...)
	if err != nil {
		return err
	}
	defer kv.Close()
	return s.Work(ctx, func(within context.Context, w steady.Worker) any { return do(within, kv, s.operation(w)) })
}

// operation returns the next operation of a worker: writes and reads alternate, each on another register.
func (s *settings) operation(w steady.Worker) history.Operation {
	op := history.Operation{Client: w.Name, Kind: history.Write, Key: fmt.Sprintf("%s%d", history.Registers, (w.Number+w.N/2)%s.keys)}
	if w.N%2 == 1 {
		op.Kind = history.Read
	} else {
		op.Value = fmt.Sprintf("%s-%d", w.Name, w.N)
		op.Entry = history.Entries + op.Value
	}
	return op
}

// do executes an operation.
func do(ctx context.Context, kv *clientv3.Client, op history.Operation) history.Operation {
	var err error
	op.Start = time.Now()
	if op.Kind == history.Write {
		_, err = kv.Txn(ctx).Then(clientv3.OpPut(op.Key, op.Value), clientv3.OpPut(op.Entry, op.Value)).Commit()
	} else {
		op.Value, err = read(ctx, kv, op.Key)
	}
	op.End = time.Now()
	op.Outcome = history.OK
	if err != nil {
		op.Error, op.Outcome = err.Error(), history.Failed
		if op.Kind == history.Write {
			op.Outcome = history.Unknown // even a refused write: it may have reached another member before
		}
	}
	return op
}

func read(ctx context.Context, kv *clientv3.Client, key string) (string, error) {
	answer, err := kv.Get(ctx, key)
	if err != nil || len(answer.Kvs) == 0 {
		return "", err
	}
	return string(answer.Kvs[0].Value), nil
}
