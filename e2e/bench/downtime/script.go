package downtime

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

var (
	//go:embed move.sh
	moveScript []byte
	//go:embed serve.sh
	serveScript []byte
	//go:embed send.sh
	sendScript []byte
)

// The programs of the script's pods, see player.ProgramKey.
const (
	serveProgram = "rsync-serve"
	sendProgram  = "rsync-send"
)

// writePrograms writes the programs of the script's pods into a folder, and returns their paths.
func writePrograms(dir string) (serve, send string, err error) {
	serve, send = filepath.Join(dir, serveProgram), filepath.Join(dir, sendProgram)
	const executable = 0o700
	return serve, send, errors.Join(os.WriteFile(serve, serveScript, executable), os.WriteFile(send, sendScript, executable))
}

// script is the contender that users write themselves.
type script struct {
	path string
	env  []string
}

// newScript writes the script to a file and builds a kubectl for it, whose caches are kept between runs, as in a user's
// home.
func newScript(ctx context.Context, w measure.Workshop, b *bed) (*script, error) {
	kubectl, err := w.Kubectl(ctx)
	if err != nil {
		return nil, err
	}
	s := &script{path: filepath.Join(w.Dir, "move.sh"), env: append(os.Environ(),
		"PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+b.east.Kubeconfig()+string(os.PathListSeparator)+b.west.Kubeconfig(),
		"KUBECACHEDIR="+filepath.Join(w.Dir, "kubectl-cache"),
	)}
	return s, os.WriteFile(s.path, moveScript, 0o600)
}

// copied is the line of the script after which it waits for a line, before it stops the pod.
const copied = "copied once"

// move runs the script. touch changes the data after the first copy, in a scene with one.
func (s *script) move(ctx context.Context, scene scene, a fixture.App, touch func() error) error {
	before := "stopped"
	if scene.changes {
		before = "running"
	}
	cmd := exec.CommandContext(ctx, "bash", s.path, strings.ToLower(string(scene.method)), before, "east", "west", a.Namespace, a.Name, measure.Template)
	cmd.Env = s.env
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := measure.Spawn(cmd); err != nil {
		return err
	}
	err = answer(out, in, touch)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("move.sh: %w\n%s", err, bytes.TrimSpace(complaints.Bytes()))
	}
	return nil
}

// answer reads the lines of the script to their end. After the line copied it calls touch, and lets the script go on.
func answer(out io.Reader, in io.WriteCloser, touch func() error) error {
	var errs []error
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() != copied {
			continue
		}
		errs = append(errs, touch())
		_, err := io.WriteString(in, "\n")
		errs = append(errs, err)
	}
	return errors.Join(append(errs, lines.Err(), in.Close())...)
}
