// Package e2e moves applications between real control planes, every time under an
// independent auditor.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// onKindVariable is set by make e2e-kind: the cases of onKind run between kind clusters then.
const onKindVariable = "E2E_KIND"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	start := startEmbedded
	if os.Getenv(onKindVariable) != "" {
		start = startKind
		flag.Parse()
		if chosen := flag.Lookup("test.run"); chosen.Value.String() == "" {
			if err := chosen.Value.Set("^(" + strings.Join(onKind, "|") + ")$"); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	var err error
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
