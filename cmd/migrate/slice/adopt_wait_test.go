package slice

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
)

// TestAdoptLingers: the new object is created only after the old one is deleted.
func TestAdoptLingers(t *testing.T) {
	for name, tc := range map[string]struct {
		// after changes the old object once its deletion was requested.
		after   func(*testing.T, *apitest.Server)
		step    time.Duration
		want    int
		wantErr string
	}{
		"gone after a while": {func(t *testing.T, s *apitest.Server) { t.Helper(); lose(t, s) }, pollEvery, command.ExitDone, ""},
		"never gone":         {func(*testing.T, *apitest.Server) {}, 2 * time.Minute, command.ExitTimeout, "still exists in cluster east after 2m0s"},
		"made anew": {func(t *testing.T, s *apitest.Server) {
			t.Helper()
			// A single update, because the command may read at any time.
			if err := s.Store.Update(t.Context(), nativeSet("web", func(set *appsv1.StatefulSet) { set.UID = "anew" })); err != nil {
				t.Error(err)
			}
		}, pollEvery, command.ExitFailure, "another client recreated apps/v1 StatefulSet shop/web in cluster east"},
	} {
		t.Run(name, func(t *testing.T) {
			commandtest.InTemp(t)
			east := newServer(t, nativeSet("web"))
			east.Before = func(r *http.Request) error {
				if r.Method != http.MethodDelete {
					return nil
				}
				held := &appsv1.StatefulSet{}
				key := client.ObjectKey{Namespace: "shop", Name: "web"}
				if err := east.Store.Get(r.Context(), key, held); err != nil {
					return err
				}
				return errLost // the answer is lost, and the object still exists
			}
			c := newConsole(adoptArgs(t, east)...)
			code := c.Begin(t)
			c.AwaitWaiting(t)
			tc.after(t, east)
			if got := c.PassTime(t, code, tc.step); got != tc.want || !strings.Contains(c.Stderr.String(), tc.wantErr) {
				t.Errorf("exit code %d, stderr %q", got, c.Stderr)
			}
		})
	}
}

var errLost = apierrors.NewTimeoutError("the answer is lost", 1)

// lose deletes the old object.
func lose(t *testing.T, s *apitest.Server) {
	t.Helper()
	if err := s.Store.Delete(t.Context(), nativeSet("web")); err != nil {
		t.Error(err)
	}
}

// TestAdoptInterrupted: after a signal between deletion and creation, the error states the remaining steps.
func TestAdoptInterrupted(t *testing.T) {
	files := commandtest.InTemp(t)
	east := newServer(t, nativeSet("web"))
	east.Before = errDeleteOnly(errLost)
	c := newConsole(adoptArgs(t, east)...)
	ctx, leave := context.WithCancel(t.Context())
	code := make(chan int)
	go func() { code <- c.Execute(ctx) }()
	c.AwaitWaiting(t)
	leave()
	if got := <-code; got != command.ExitFailure || !strings.Contains(c.Stderr.String(), "interrupted\nThe pods run, but no controller") || len(files()) != 1 {
		t.Errorf("exit code %d, stderr %q, files %v", got, c.Stderr, files())
	}
}

// TestAdoptUntaken: if no controller takes over the pods, the error states what to check.
func TestAdoptUntaken(t *testing.T) {
	for to, want := range map[string]string{"apps.sliceshift.io": "migrate rollout status web -n shop --kubeconfig ", "apps": " --context east rollout status statefulset/web -n shop"} {
		t.Run(to, func(t *testing.T) {
			files := commandtest.InTemp(t)
			east := newServer(t, nativeSet("web"))
			if to == "apps" {
				east = newServer(t, webSlice())
			}
			east.NoController = true
			c := newConsole(adoptArgs(t, east, "--to", to)...)
			code := c.PassTime(t, c.Begin(t), time.Minute)
			for _, want := range []string{"is created in cluster east, and the pods run: its controller has not adopted the pods after 2m0s", want} {
				if !strings.Contains(c.Stderr.String(), want) {
					t.Errorf("stderr %q, want %q in it", c.Stderr, want)
				}
			}
			if code != command.ExitTimeout || len(files()) > 0 || c.Stdout.Len() > 0 {
				t.Errorf("exit code %d, stdout %q, files %v", code, c.Stdout, files())
			}
		})
	}
}

// looks calls a function before each read of the created object, with the number of reads.
func looks(at func(n int) error) func(*http.Request) error {
	created, n := false, 0
	return func(r *http.Request) error {
		switch {
		case r.Method == http.MethodPost && r.URL.Query().Get("dryRun") == "":
			created = true
		case created && r.Method == http.MethodGet && r.PathValue("name") != "":
			n++
			return at(n)
		}
		return nil
	}
}

// TestAdoptLeft: a signal while the pods are taken over undoes nothing, and the error states this.
func TestAdoptLeft(t *testing.T) {
	files := commandtest.InTemp(t)
	east := newServer(t, nativeSet("web"))
	east.NoController = true
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	east.Before = looks(func(int) error { leave(); return nil })
	c := newConsole(adoptArgs(t, east)...)
	if got := c.Execute(ctx); got != command.ExitFailure || len(files()) > 0 {
		t.Errorf("exit code %d, files %v", got, files())
	}
	if want := "is created in cluster east, and the pods run: interrupted; see whether its controller runs"; !strings.Contains(c.Stderr.String(), want) {
		t.Errorf("stderr %q, want %q in it", c.Stderr, want)
	}
}

// TestAdoptLateTaken: the command ends only after the pods are taken over.
func TestAdoptLateTaken(t *testing.T) {
	commandtest.InTemp(t)
	east := newServer(t, nativeSet("web"))
	east.NoController = true
	seen := 0
	east.Before = looks(func(n int) error {
		seen = n
		if n != 3 {
			return nil
		}
		set := storedSlice(t, east)
		set.Status = slicesapi.StatefulSetStatus{ObservedGeneration: 1, Replicas: 3}
		return east.Store.Update(t.Context(), set)
	})
	c := newConsole(adoptArgs(t, east)...)
	if got := c.PassTime(t, c.Begin(t), pollEvery); got != command.ExitDone || !strings.Contains(c.Stdout.String(), "web adopted") || seen != 3 {
		t.Errorf("exit code %d after %d looks, stderr %q", got, seen, c.Stderr)
	}
}
