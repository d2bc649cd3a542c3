// Command etcd moves a running etcd of three members from one kind cluster to another, rolls it back halfway, and
// moves it again, while clients in both clusters write and read. It proves by their histories that no acknowledged
// write was lost and that all clients saw one order: make e2e-etcd. Its measurements go to docs/engineering/etcd.md and
// docs/engineering/etcd.svg.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/internal/program"
)

func main() {
	runs := flag.Int("runs", 3, "how often it is done undisturbed")
	only := flag.String("only", "", "run the scenarios whose names begin so, and write no page")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	program.Run("etcd", func(ctx context.Context) error { return demonstrate(ctx, *runs, *only) })
}

// demonstrate starts the clusters once and runs the scenarios on them: all, or those whose names have the given
// prefix.
func demonstrate(ctx context.Context, runs int, only string) (err error) {
	chosen := slices.DeleteFunc(scenarios(runs), func(s scenario) bool { return !strings.HasPrefix(s.name, only) })
	if len(chosen) == 0 {
		return fmt.Errorf("no scenario's name begins with %q", only)
	}
	dir, err := kind.EmptyDir("e2e-etcd")
	if err != nil {
		return err
	}
	begin := time.Now()
	s, err := newTheatre(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(ctx, err)) }()
	fmt.Printf("two clusters with DNS, manager and images are ready after %.0f s\n", time.Since(begin).Seconds())
	var results []result
	for i, what := range chosen {
		r, err := s.run(ctx, i+1, what)
		if err != nil {
			return fmt.Errorf("%s: %w (what the nodes logged is in %s)", what.name, err, dir)
		}
		results = append(results, r)
	}
	if only != "" {
		printTable(os.Stdout, results)
		return verdict(results)
	}
	return errors.Join(publish(results), verdict(results))
}

// publish prints the figures and writes them into the documentation.
func publish(results []result) error {
	printTable(os.Stdout, results)
	picture := drawing(results[0])
	page, err := page(results)
	if err != nil {
		return err
	}
	root, err := built.Module()
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "docs", "engineering")
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "etcd.svg"), []byte(picture), 0o644),
		os.WriteFile(filepath.Join(folder, "etcd.md"), []byte(page), 0o644),
	)
}

// verdict returns an error for every run in which something was lost or broken.
func verdict(results []result) error {
	var errs []error
	for _, r := range results {
		for _, complaint := range r.complaints() {
			errs = append(errs, fmt.Errorf("%s: %s", r.name, complaint))
		}
	}
	return errors.Join(errs...)
}
