package rehearse

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
)

// clusters is a world in which only the namespace exists, once it was created.
type clusters struct {
	namespace bool
	// looks are the errors of the first reads, and writes those of the first writes.
	looks, writes []error
	wrote         []string
	// at is called before each read.
	at func()
	// limit is that of the latency.
	limit time.Duration
}

func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func (c *clusters) Look(ctx context.Context, r rehearsal.Record) (rehearsal.Facts, error) {
	if c.at != nil {
		c.at()
	}
	f := rehearsal.Facts{Now: commandtest.Noon, Record: r}
	f.Ask.LatencyLimit = c.limit
	f.Namespace.Name, f.Namespace.Found, f.Namespace.Ours = r.Namespace, c.namespace, true
	if c.namespace {
		f.Namespace.UID = "uid-1"
	}
	f.Admission.Allowed = true
	f.Control.Name = "control"
	f.Control.Created = commandtest.Noon
	return f, errors.Join(next(&c.looks), ctx.Err())
}

func (c *clusters) Do(ctx context.Context, _ rehearsal.Record, w rehearsal.Write) error {
	if err := next(&c.writes); err != nil {
		return err
	}
	c.wrote = append(c.wrote, w.String())
	if w.Kind == rehearsal.KindNamespace {
		c.namespace = w.Verb == rehearsal.Create
	}
	return ctx.Err()
}

// records counts what is stored, and fails once another process has written.
type records struct {
	saved []rehearsal.Record
	taken error
}

func (s *records) Save(ctx context.Context, r rehearsal.Record) error {
	s.saved = append(s.saved, r)
	return errors.Join(s.taken, ctx.Err())
}

func (s *records) Held(context.Context) error { return s.taken }

func driver(t *testing.T, c *clusters, s *records) (*Driver, *commandtest.Console) {
	t.Helper()
	console := commandtest.New(nil)
	place := rehearsal.Place{Namespace: "shop", StatefulSet: "web"}
	return &Driver{
		Common: command.NewCommon(console.Environment), Stage: c, Store: s, Again: "migrate rehearse web --clean",
		Record: rehearsal.Begin("id-1", place, place, commandtest.Noon, nil),
	}, console
}

// TestInterrupted: a signal ends the rehearsal, and everything is deleted before the command returns. No request is
// cancelled.
func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := &clusters{}
	c.at = func() {
		if c.namespace {
			stop()
		}
	}
	s := &records{}
	d, _ := driver(t, c, s)
	r, err := d.Drive(ctx)
	if err != nil || r.End == nil || r.End.Outcome != rehearsal.Interrupted || !r.Cleaned {
		t.Fatalf("%+v, %v", r, err)
	}
	if want := []string{"create namespace " + r.Namespace, "delete namespace " + r.Namespace}; !slices.Equal(c.wrote, want) {
		t.Errorf("it wrote %q", c.wrote)
	}
	if len(s.saved) == 0 || s.saved[0].End != nil || !s.saved[len(s.saved)-1].Cleaned {
		t.Errorf("it stored %+v", s.saved)
	}
}

// TestRecordIsFirst: nothing is created before the record is stored, or after another process has taken it.
func TestRecordIsFirst(t *testing.T) {
	c, s := &clusters{}, &records{taken: apierrors.NewConflict(corev1.Resource("configmaps"), "web", errors.New("changed"))}
	d, _ := driver(t, c, s)
	if _, err := d.Drive(t.Context()); err == nil || len(c.wrote) > 0 {
		t.Errorf("%v, and it wrote %q", err, c.wrote)
	}
}

// TestSourceSlow: the driver judges the latest requests to the source in each pass, and ends the rehearsal that they
// suffer from.
func TestSourceSlow(t *testing.T) {
	c, s := &clusters{}, &records{}
	c.limit = 100 * time.Millisecond
	d, _ := driver(t, c, s)
	asked := 0
	d.Latest = func() *rehearsal.Requests {
		if asked++; asked < 3 {
			return &rehearsal.Requests{All: 50, P99: 100 * time.Millisecond}
		}
		return &rehearsal.Requests{All: 50, P99: 101 * time.Millisecond}
	}
	r, err := d.Drive(t.Context())
	if err != nil || r.End == nil || r.End.Reason != rehearsal.ReasonSourceSlow || !r.Cleaned || len(c.wrote) != 2 {
		t.Errorf("%+v, %v, and it wrote %q", r.End, err, c.wrote)
	}
}

// TestTakenOver: a process whose record another one has taken writes nothing more.
func TestTakenOver(t *testing.T) {
	c, s := &clusters{}, &records{}
	c.at = func() {
		if len(s.saved) > 0 {
			s.taken = apierrors.NewConflict(corev1.Resource("configmaps"), "web", errors.New("changed"))
		}
	}
	d, _ := driver(t, c, s)
	if _, err := d.Drive(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate rehearse web --clean") || len(c.wrote) > 0 {
		t.Errorf("%v, and it wrote %q", err, c.wrote)
	}
}

// TestWriteRefused: an object that an API server refuses ends the rehearsal with the reason, and what was created is
// deleted.
func TestWriteRefused(t *testing.T) {
	c, s := &clusters{}, &records{}
	c.writes = []error{nil, apierrors.NewForbidden(corev1.Resource("pods"), "control", errors.New("no pods here"))}
	d, console := driver(t, c, s)
	r, err := d.Drive(t.Context())
	if err != nil || r.End.Reason != "WriteRefused" || !strings.Contains(r.End.Message, "no pods here") || !r.Cleaned {
		t.Fatalf("%+v, %v", r.End, err)
	}
	if !strings.Contains(console.Stderr.String(), "no pods here") {
		t.Errorf("it shows %q", console.Stderr)
	}
}

// TestUnreachable: a cluster that does not answer is asked again for a while. Then the command names the way to delete
// what exists.
func TestUnreachable(t *testing.T) {
	away := errors.New("no route to host")
	for name, tc := range map[string]struct {
		times int
		fails bool
	}{"for a moment": {3, false}, "for long": {100, true}} {
		t.Run(name, func(t *testing.T) {
			c, s := &clusters{looks: slices.Repeat([]error{away}, tc.times)}, &records{}
			d, console := driver(t, c, s)
			ended := make(chan error, 1)
			go func() {
				_, err := d.Clean(t.Context())
				ended <- err
			}()
			var err error
			commandtest.Await(t, func() bool {
				console.Clock.Step(time.Second)
				select {
				case err = <-ended:
					return true
				case <-time.After(time.Millisecond): // gives the driver time to react to the step
					return false
				}
			}, func() string { return "it does not end" })
			if fails := err != nil && strings.Contains(err.Error(), "migrate rehearse web --clean"); fails != tc.fails {
				t.Errorf("%v", err)
			}
		})
	}
}
