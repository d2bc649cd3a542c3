package inplace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// uids returns the UIDs of all pods.
func (w *world) uids() string {
	var all []string
	for ordinal := range int32(replicas) {
		if pod := w.pods[ordinal]; pod != nil {
			all = append(all, string(pod.uid))
		}
	}
	return strings.Join(all, " ")
}

// changing returns the ordinals whose volumes the driver has left to change.
func (w *world) changing() (all []int32) {
	for ordinal := range int32(replicas) {
		for _, template := range w.former.Templates {
			if c := w.claims[claimName(template.Name, ordinal)]; c != nil && (w.change(c).Grows || w.change(c).Modifies) {
				all = append(all, ordinal)
				break
			}
		}
	}
	return all
}

// TestDriverChanges: the driver changes the volumes of one ordinal after the other, and no pod is stopped.
func TestDriverChanges(t *testing.T) {
	for _, target := range []Manifest{grown, modified, given} {
		t.Run(target.Text, func(t *testing.T) {
			w := newWorld(t, target)
			w.keeps, w.budget, w.healthy = true, 0, replicas // none may be down
			before := w.uids()
			var order []int32
			for range 1000 {
				w.turn()
				done := w.step()
				now := w.changing()
				if len(now) > 1 {
					w.fail("the volumes of ordinals %v change at once", now)
				}
				if len(now) > 0 && !slices.Contains(order, now[0]) {
					order = append(order, now[0])
				}
				if done {
					break
				}
			}
			w.atRest(target)
			if after := w.uids(); after != before || w.evicted > 0 {
				w.fail("the pods are %s, and were %s", after, before)
			}
			if fmt.Sprint(order) != "[2 1 0]" {
				w.fail("the order is %v", order)
			}
		})
	}
}

// TestRestarts: a pod is restarted once if its file system grows only then, and if another volume of the ordinal is copied,
// by that.
func TestRestarts(t *testing.T) {
	for name, tc := range map[string]struct {
		target  Manifest
		offline bool
		want    int
	}{
		"the node grows it online":          {grown, false, 0},
		"the node grows it as a pod starts": {grown, true, replicas},
		"attributes":                        {modified, true, 0},
		"both claims grow":                  {given, true, replicas},
		"another one is copied":             {mixed, false, replicas},
		"another one is copied, offline":    {mixed, true, replicas},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.target)
			w.offline = tc.offline
			w.finish()
			if w.evicted != tc.want {
				w.fail("%d pods were evicted, want %d", w.evicted, tc.want)
			}
		})
	}
}

// growing returns a world in which the first claim was asked to grow, and its node grows it as a pod starts.
func growing(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, grown)
	w.keeps, w.offline = true, true
	w.until("a file system waits for its node", func() bool { return !w.claims["data-web-2"].pending.IsZero() })
	return w
}

// TestTrapsOfGrowth: what the driver refuses or does not do stops the migration with a reason.
func TestTrapsOfGrowth(t *testing.T) {
	for name, play := range map[string]func(t *testing.T){
		"the driver gives no such size": func(t *testing.T) {
			w := newWorld(t, grown)
			w.keeps, w.refuses = true, 150
			w.stallsWith(api.ReasonStorageUnfit, replicas)
			w.wanted = manifest("less", Template{Name: "data", Class: "slow", Size: 150}, logs)
			w.finish()
		},
		"the driver gives no such size, and it is copied": func(t *testing.T) {
			w := newWorld(t, grown)
			w.refuses = 150
			w.finish()
			if v := w.volumes[w.claims["data-web-2"].volume]; strings.HasPrefix(v.name, "pv-") {
				w.fail("it is on its first volume")
			}
		},
		"no driver answers": func(t *testing.T) {
			w := newWorld(t, grown)
			w.keeps, w.deadline = true, time.Minute
			w.until("its claim asks", func() bool { return w.claims["data-web-2"].template.Size == 200 })
			s := w.observe()
			at := &s.Ordinals[2].Slots[0]
			at.Change.Since, s.Now = w.now, w.now.Add(time.Minute)
			if d := Plan(s, w); d.Hold == nil || !d.Hold.Stalled || d.Hold.Reason != volumes.ReasonVolumeChanging || d.Hold.Remedy == "" {
				w.fail("got %+v, hold %+v", d, d.Hold)
			}
			s.Now = w.now.Add(time.Second)
			if d := Plan(s, w); d.Hold == nil || d.Hold.Stalled || d.Wait != time.Minute-time.Second {
				w.fail("got %+v, hold %+v", d, d.Hold)
			}
			w.finish()
		},
		"the driver reports an error": func(t *testing.T) {
			w := newWorld(t, grown)
			w.keeps = true
			w.until("its claim asks", func() bool { return w.claims["data-web-2"].template.Size == 200 })
			s := w.observe()
			s.Ordinals[2].Slots[0].Change.Grows, s.Ordinals[2].Slots[0].Change.Trouble = true, "no space"
			if d := Plan(s, w); d.Hold == nil || !d.Hold.Stalled || !strings.Contains(d.Hold.Message, "no space") || d.Hold.Remedy == "" {
				w.fail("got %+v, hold %+v", d, d.Hold)
			}
			w.finish()
		},
	} {
		t.Run(name, play)
	}
}

// TestTrapsOfRestarts: a pod whose file system waits for its node is only restarted within the budget.
func TestTrapsOfRestarts(t *testing.T) {
	for name, play := range map[string]func(t *testing.T){
		"the budget lets no pod be restarted": func(t *testing.T) {
			w := growing(t)
			w.healthy = replicas
			w.stallsWith(api.ReasonBudgetZero, replicas)
			w.healthy--
			w.finish()
		},
		"another replica is down": func(t *testing.T) {
			w := growing(t)
			w.healthy = 0
			w.pods[0].ready, w.pods[0].node, w.pods[0].on = false, "", map[string]string{}
			w.now = w.now.Add(onlineGrowth)
			if d := Plan(w.observe(), w); d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
				w.fail("got %+v, hold %+v (I5)", d, d.Hold)
			}
			w.finish()
		},
		"a pause before the restart": func(t *testing.T) {
			w := growing(t)
			w.until("a restart is due", func() bool { return w.record.Handoff != nil })
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			if w.evicted > 0 {
				w.fail("a pod was evicted")
			}
			w.mode = api.ModeRun
			w.finish()
		},
		"a rollback before the restart": func(t *testing.T) {
			w := growing(t)
			w.until("a restart is due", func() bool { return w.record.Handoff != nil })
			w.mode = api.ModeRollback
			w.finish()
			if w.evicted > 0 {
				w.fail("a pod was evicted")
			}
		},
		"the node still does not grow it": func(t *testing.T) {
			w := growing(t)
			w.deadline = time.Hour
			w.until("the pod was restarted", func() bool { return w.evicted == 1 && w.ready() == replicas })
			s := w.observe()
			slot := &s.Ordinals[2].Slots[0]
			slot.Change.Grows, slot.Change.FileSystem = true, noon.Add(-time.Minute)
			s.Record.Handoff = &Handoff{Ordinal: 2}
			if d := Plan(s, w); d.Hold == nil || d.Hold.Stalled || d.Hold.Reason != volumes.ReasonVolumeChanging {
				w.fail("got %+v, hold %+v", d, d.Hold)
			}
			s.Now = s.Now.Add(2 * time.Hour)
			if d := Plan(s, w); d.Hold == nil || !d.Hold.Stalled {
				w.fail("got %+v, hold %+v", d, d.Hold)
			}
			if w.finish(); w.evicted != replicas {
				w.fail("%d pods were evicted", w.evicted)
			}
		},
		"a full volume whose pod fails": func(t *testing.T) {
			w := newWorld(t, grown)
			w.keeps, w.healthy, w.set.manifest = true, 0, grown
			w.pods[0].ready, w.pods[1].ready = false, false
			s := w.observe()
			s.Record.Reached, s.Record.Written = api.ModeRun, grown.Templates
			if d := Plan(s, w); d.Action == nil || d.Action.Verb != ChangeClaim {
				w.fail("got %+v, hold %+v", d, d.Hold)
			}
		},
	} {
		t.Run(name, play)
	}
}

// TestMixedOrdinals: of one template, the claim of an ordinal grows, that of another is copied, and the third is as wanted.
func TestMixedOrdinals(t *testing.T) {
	w := newWorld(t, grown)
	w.volumes["pv-data-web-1"].template.Class = "fast"
	w.claims["data-web-0"].template.Size, w.claims["data-web-0"].capacity, w.volumes["pv-data-web-0"].template.Size = 200, 200, 200
	w.finish()
	if w.evicted != 1 || w.claims["data-web-2"].volume != "pv-data-web-2" || w.claims["data-web-0"].volume != "pv-data-web-0" || w.claims["data-web-1"].volume == "pv-data-web-1" {
		w.fail("%d pods were evicted; the volumes are %s, %s and %s", w.evicted, w.claims["data-web-2"].volume, w.claims["data-web-1"].volume, w.claims["data-web-0"].volume)
	}
}
