package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/internal/program"
)

// The images of the demonstration.
const (
	etcdImage   = "sliceshift/etcd:e2e"
	clientImage = "sliceshift/etcd-client:e2e"
)

// theatre holds the parts that all runs share.
type theatre struct {
	pair  *kind.Pair
	disks *disks.Disks
	judge string // the program
}

func newTheatre(ctx context.Context, dir string) (*theatre, error) {
	t := &theatre{judge: filepath.Join(dir, "judge")}
	pair, err := stage.Up(ctx, dir, func(ctx context.Context) ([]string, error) { return t.build(ctx, dir) })
	if err != nil {
		return nil, err
	}
	t.pair = pair
	t.disks, err = disks.Start(ctx, filepath.Join(dir, "disks"), disks.Site{Cluster: pair.East, Driver: eastDriver}, disks.Site{Cluster: pair.West, Driver: westDriver})
	if err != nil {
		return nil, errors.Join(err, stage.Down(ctx, pair, err))
	}
	return t, nil
}

// end removes the clusters and their disks.
func (s *theatre) end(ctx context.Context, failed error) error {
	const patience = time.Minute
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return errors.Join(s.disks.Stop(stopping), stage.Down(ctx, s.pair, failed))
}

// build builds the judge, and the images of the pods.
func (s *theatre) build(ctx context.Context, dir string) ([]string, error) {
	programs, err := programsDir()
	if err != nil {
		return nil, err
	}
	for image, source := range map[string]string{etcdImage: "etcd", clientImage: "client"} {
		if err := kind.BuildImage(ctx, dir, filepath.Join(programs, source), image); err != nil {
			return nil, err
		}
	}
	if _, err := (program.In{Dir: filepath.Join(programs, "judge")}).Output(ctx, "go", "build", "-o", s.judge, "."); err != nil {
		return nil, fmt.Errorf("build the judge: %w", err)
	}
	return []string{etcdImage, clientImage}, nil
}

// programsDir returns the Go module of the programs in pods and of the judge. It is separate so that the product does
// not require its dependencies.
func programsDir() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("find the sources of e2e/etcd: build without -trimpath, inside the repository")
	}
	return filepath.Join(filepath.Dir(file), "programs"), nil
}

// ask sends a question to the judge and returns its answer.
func (s *theatre) ask(ctx context.Context, q question) (answer, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return answer{}, err
	}
	verdict, err := program.In{Stdin: bytes.NewReader(text)}.Output(ctx, s.judge)
	if err != nil {
		return answer{}, fmt.Errorf("ask the judge: %w", err)
	}
	var a answer
	return a, json.Unmarshal([]byte(verdict), &a)
}
