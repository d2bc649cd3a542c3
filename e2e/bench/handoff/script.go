package handoff

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // move.sh
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

//go:embed move.sh
var moveScript []byte

// script is the contender that users write themselves.
type script struct {
	path string
	env  []string
}

// newScript writes the script to a file and builds a kubectl for it, whose caches are kept between runs, as in a
// user's home.
func (b *bench) newScript(ctx context.Context) (*script, error) {
	kubectl, err := b.kubectl(ctx)
	if err != nil {
		return nil, err
	}
	s := &script{path: filepath.Join(b.Dir, "move.sh"), env: append(os.Environ(),
		"PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+b.east.Kubeconfig()+string(os.PathListSeparator)+b.west.Kubeconfig(),
		"KUBECACHEDIR="+filepath.Join(b.Dir, "kubectl-cache"),
	)}
	return s, os.WriteFile(s.path, moveScript, 0o600)
}

// move runs the script and records when it prints a line: one at the start, and one for each ordinal that has arrived.
func (s *script) move(ctx context.Context, app fixture.App) (measure.Timing, error) {
	cmd := exec.CommandContext(ctx, "bash", s.path, "east", "west", app.Namespace, app.Name, measure.Template)
	cmd.Env = s.env
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return measure.Timing{}, err
	}
	if err := measure.Spawn(cmd); err != nil {
		return measure.Timing{}, err
	}
	var taken measure.Timing
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		switch now := time.Now(); {
		case strings.HasPrefix(lines.Text(), "moving "):
			taken.Begin = now
		case strings.HasPrefix(lines.Text(), "ordinal "):
			taken.Arrived = append(taken.Arrived, now)
		}
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		return taken, fmt.Errorf("move.sh: %w\n%s", err, bytes.TrimSpace(complaints.Bytes()))
	}
	return taken, nil
}
