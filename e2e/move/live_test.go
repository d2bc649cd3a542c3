package move

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestLive moves an application on a terminal that reads keys. One word pauses the move and another resumes it.
// Text that was meant for another window has no effect. The terminal becomes narrower meanwhile, and the events
// remain at the end.
func TestLive(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(3), harness.AcrossClusters)
	cmd := v.cli("run")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	v.Must(err)
	shown := &screen{}
	go shown.read(terminal)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the terminal got:\n%q", shown.text())
		}
	})
	from, err := harness.Client(v.From)
	v.Must(err)
	store := records.ConfigMap{Client: from, Namespace: v.App.Namespace, Name: v.App.Name}
	awaits := func(mode api.Mode, reason string) {
		v.Eventually("the record says "+string(mode), func(ctx context.Context) (bool, error) {
			m, err := store.Load(ctx)
			return err == nil && m.Spec.Mode == mode && strings.Contains(shown.text(), reason), nil
		})
	}
	v.awaitFewer(3)
	v.Eventually("both slices are drawn", func(context.Context) (bool, error) {
		text := shown.text()
		return strings.Contains(text, "source") && strings.Contains(text, "a word and Enter"), nil
	})
	press := func(key string) {
		_, err := terminal.WriteString(key)
		v.Must(err)
	}
	press("kubectl get pods -l app.kubernetes.io/managed-by=Helm\r") // V1: contains p, r, b, y
	press("pause\r")
	awaits(api.ModePause, "mode is now Pause")
	v.Must(pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 60}))
	press("resume\r")
	awaits(api.ModeRun, "mode is now Run")
	if err := cmd.Wait(); err != nil {
		t.Errorf("the run ended with %v", err)
	}
	v.ExpectMovedCleanly()
	if text := shown.text(); !strings.Contains(text, "never seen fewer than 2 of 3 replicas") { // the line wraps there
		t.Error("what it came to is not left")
	}
}

// screen records all output sent to a terminal.
type screen struct {
	mu  sync.Mutex
	all []byte
}

func (s *screen) read(from *os.File) {
	part := make([]byte, 4096)
	for {
		n, err := from.Read(part)
		s.mu.Lock()
		s.all = append(s.all, part[:n]...)
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.all)
}
