package cluster

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
)

// StartAll starts several clusters at once and returns them in the order of their names. They share the options. If
// the options name a folder, each cluster gets a subfolder of it. If one cluster fails, all are removed.
func StartAll(ctx context.Context, options Options, names ...string) ([]*Cluster, error) {
	if options.Log != nil {
		options.Log = &lockedWriter{writer: options.Log}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clusters := make([]*Cluster, len(names))
	errs := make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			one := options
			one.Name = name
			if options.Dir != "" {
				one.Dir = filepath.Join(options.Dir, name)
			}
			if clusters[i], errs[i] = Start(ctx, one); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, stopAll(clusters))
	}
	return clusters, nil
}

func stopAll(clusters []*Cluster) error {
	var errs []error
	for _, c := range clusters {
		if c != nil {
			errs = append(errs, c.Stop())
		}
	}
	return errors.Join(errs...)
}

// lockedWriter lets several clusters share a log that is not safe for concurrent use.
type lockedWriter struct {
	mu     sync.Mutex
	writer io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writer.Write(p)
}
