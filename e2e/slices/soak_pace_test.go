package slices

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pace measures how late a watch shows a write, and how long an edit takes. On a busy machine, the controller acts on old
// state for longer, which is no fault of the controller.
type pace struct {
	mu sync.Mutex
	// late are the delays of the last writes and edits, and when they ended.
	late []lateness
	// shown is when a write was last seen.
	shown time.Time
}

type lateness struct{ at, written time.Time }

const (
	paceName = "pace"
	paceKey  = "written"
	// paceOf is how long a delay counts: the controller may decide on delayed state until then.
	paceOf = 10 * time.Second
	// paceEvery is the interval between the writes whose delay is measured.
	paceEvery = 500 * time.Millisecond
)

// saw records that a write of the time written is visible now.
func (p *pace) saw(now, written time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = now
	p.add(now, written)
}

// took records an edit that the API server has accepted now. A pass of the controller that decided before it may take as
// long.
func (p *pace) took(now, begun time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(now, begun)
}

func (p *pace) add(now, written time.Time) {
	p.late = append(p.late, lateness{at: now, written: written})
	for len(p.late) > 1 && now.Sub(p.late[0].at) > paceOf {
		p.late = p.late[1:]
	}
}

// worst returns the longest recent delay; the time since the last visible write counts as one.
func (p *pace) worst(now time.Time) (delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.late {
		if now.Sub(l.at) <= paceOf {
			delay = max(delay, l.at.Sub(l.written))
		}
	}
	if !p.shown.IsZero() {
		delay = max(delay, now.Sub(p.shown)-2*paceEvery)
	}
	return delay
}

// keep writes the time repeatedly, and watches it, until the context ends.
func (p *pace) keep(ctx context.Context, namespace string) error {
	mark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: paceName, Labels: map[string]string{"app": paceName}}}
	if err := api.Create(ctx, mark); err != nil {
		return err
	}
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, paceKey, time.Now().Format(time.RFC3339Nano))
		_ = api.Patch(ctx, mark.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}, paceEvery)
	return watchAll(ctx, &corev1.ConfigMapList{}, namespace, mark.Labels, func(object client.Object, _ bool) error {
		if written, err := time.Parse(time.RFC3339Nano, object.(*corev1.ConfigMap).Data[paceKey]); err == nil {
			p.saw(time.Now(), written)
		}
		return nil
	})
}

// TestPace: a delay counts for a while, as does the time of an edit, and the absence of events.
func TestPace(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }
	p := &pace{}
	if got := p.worst(at(9)); got != 0 {
		t.Errorf("before anything was seen: %s", got)
	}
	p.saw(at(1), at(0.75))
	p.saw(at(4), at(1))
	p.saw(at(4.5), at(4.5))
	for _, row := range []struct{ now, want float64 }{{4.5, 3}, {5.5, 3}, {9.5, 4}, {15, 9.5}} {
		if got := p.worst(at(row.now)); got != at(row.want).Sub(begin) {
			t.Errorf("at %v s: %s, want %v s", row.now, got, row.want)
		}
	}
	p.saw(at(15), at(15))
	if got := p.worst(at(15)); got != 0 {
		t.Errorf("what was late long ago: %s", got)
	}
	p.took(at(20), at(16))
	if got := p.worst(at(20)); got != 4*time.Second {
		t.Errorf("an edit took 4 s: %s", got)
	}
	if got := p.worst(at(29)); got != 13*time.Second {
		t.Errorf("an edit is no sign of the watch: %s", got)
	}
}
