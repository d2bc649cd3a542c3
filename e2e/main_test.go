// Package e2e moves applications between real control planes, every time under an
// independent auditor.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind/cases"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	start := startEmbedded
	onReal, err := cases.Chosen(onKind)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if onReal {
		start = startKind
	}
	if stage, err = start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := errors.Join(stage.close(code != 0), os.RemoveAll(programs.dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}
