package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/mcs"
	"github.com/sliceshift/sliceshift/internal/program"
)

// The images of the demonstration.
const (
	etcdImage    = "sliceshift/etcd:e2e"
	clientImage  = "sliceshift/etcd-client:e2e"
	dnsImage     = "sliceshift/coredns:e2e"
	managerImage = "sliceshift/manager:e2e"
)

// stage is what all runs share.
type stage struct {
	pair  *kind.Pair
	judge string // the program
}

// newStage starts two clusters in which the names of the clusterset lead to pods of either.
func newStage(ctx context.Context, dir string) (*stage, error) {
	pair, err := kind.Up(ctx, dir, os.Stderr)
	if err != nil {
		return nil, err
	}
	if pair.Own() {
		return nil, errors.New("this needs clusters of its own: unset E2E_KUBECONFIGS")
	}
	s := &stage{pair: pair, judge: filepath.Join(dir, "judge")}
	if err := s.prepare(ctx, dir); err != nil {
		cleanup := context.WithoutCancel(ctx)
		return nil, errors.Join(err, pair.KeepLogs(cleanup), pair.Down(cleanup))
	}
	return s, nil
}

func (s *stage) prepare(ctx context.Context, dir string) error {
	if err := s.loadImages(ctx, dir); err != nil {
		return err
	}
	for _, c := range s.pair.Both() {
		for _, step := range []func() error{
			func() error { return setup.Storage(ctx, c) },
			func() error { return setup.CRDs(ctx, c) },
			func() error { return mcs.Install(ctx, c.Config) },
			func() error { return mcs.InstallDNS(ctx, c.Config, dnsImage) },
		} {
			if err := step(); err != nil {
				return fmt.Errorf("cluster %s: %w", c.Name, err)
			}
		}
	}
	east, west := s.pair.East, s.pair.West
	for _, step := range []func() error{
		func() error { return setup.Roles(ctx, west) },
		func() error { return setup.Manager(ctx, east, managerImage) },
		func() error { return setup.AwaitManager(ctx, east) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return mcs.Start(ctx, mcs.Member{Name: east.Name, Config: east.Config}, mcs.Member{Name: west.Name, Config: west.Config})
}

func (s *stage) loadImages(ctx context.Context, dir string) error {
	programs, err := programsDir()
	if err != nil {
		return err
	}
	dns, err := mcs.CoreDNSSource()
	if err != nil {
		return err
	}
	for image, source := range map[string]string{
		etcdImage: filepath.Join(programs, "etcd"), clientImage: filepath.Join(programs, "client"), dnsImage: dns,
	} {
		if err := kind.BuildImage(ctx, dir, source, image); err != nil {
			return err
		}
	}
	if err := kind.BuildManager(ctx, dir, managerImage); err != nil {
		return err
	}
	if _, err := (program.In{Dir: filepath.Join(programs, "judge")}).Output(ctx, "go", "build", "-o", s.judge, "."); err != nil {
		return fmt.Errorf("build the judge: %w", err)
	}
	return s.pair.Load(ctx, etcdImage, clientImage, dnsImage, managerImage)
}

// programsDir is the Go module of what runs in pods and of the judge: what it requires is
// not required by the product.
func programsDir() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("find the sources of e2e/etcd: build without -trimpath, inside the repository")
	}
	return filepath.Join(filepath.Dir(file), "programs"), nil
}

// ask has the judge answer.
func (s *stage) ask(ctx context.Context, q question) (answer, error) {
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
