package inplace

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestTrapsInTheMiddle: what other writers and machines do between two steps. No pod starts without its data.
func TestTrapsInTheMiddle(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"whenScaled Delete: a claim is owned by a pod that was scaled down": func(w *world) {
			w.claims["data-web-2"].owned = true
			w.stallsWith(volumes.ReasonClaimOwned, replicas)
			if w.set.manifest.Equals(w.wanted) {
				w.fail("the set was recreated")
			}
			w.claims["data-web-2"].owned = false
			w.finish()
		},
		"a claim gets an owner after the recreation of the set": func(w *world) {
			w.until("the set has the wanted templates", func() bool { return w.record.Reached == api.ModeRun })
			w.claims["data-web-2"].owned = true
			w.stallsWith(volumes.ReasonClaimOwned, replicas)
			if w.leaving(2) || w.record.Handoff != nil {
				w.fail("its handoff has begun")
			}
			w.claims["data-web-2"].owned = false
			w.finish()
		},
		"GitOps creates the set between its deletion and its creation": func(w *world) {
			w.until("it is being deleted", func() bool { return w.set.terminating })
			w.orphan()
			w.recreatedBy(w.former)
			w.stallsWith(api.ReasonTemplatesReverted, replicas)
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"GitOps creates the set with the wanted templates, first": func(w *world) {
			w.until("it is being deleted", func() bool { return w.set.terminating })
			w.orphan()
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"its node is lost after the deletion of its claim": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.lost = "node-2"
			w.stallsWith(api.ReasonPodTerminating, replicas-1)
			if v := w.volumes["pv-data-web-2"]; v.ref.Name != "data-web-2" || !v.retain {
				w.fail("its volume was pointed elsewhere while its pod may run: %+v", v)
			}
			w.lost = ""
			w.finish()
		},
		"another node is lost while an ordinal is down": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.lost, w.healthy = "node-0", replicas-2
			w.pods[0].terminating, w.pods[0].ready = true, false
			w.stallsWith(api.ReasonReplicaUnavailable, replicas-1)
			if c := w.claims["data-web-2"]; c.template != smallData {
				w.fail("ordinal 2 was not finished: %+v", c)
			}
			if w.leaving(1) {
				w.fail("another ordinal is stopped (I5)")
			}
			w.lost = ""
			w.finish()
		},
		"another writer removes the finalizer after the stop": func(w *world) {
			w.foreign = true
			w.until("ordinal 2 is down", w.down(2))
			last := w.latest["data-web-2"]
			w.claims["data-web-2"].held, w.claims["data-web-2"].protected = false, false
			w.collect()
			w.stallsWith(volumes.ReasonForeignVolume, replicas)
			if v := w.volumes["pv-data-web-2"]; v == nil || !v.retain || v.data != last {
				w.fail("its old volume is not kept: %+v", v)
			}
		},
	})
}

// TestTemplatesAreChangedByAdmission: a webhook changes the claim templates of each set that is created. The set is not deleted
// again and again: that is a stall, unless an ordinal that returns can start.
func TestTemplatesAreChangedByAdmission(t *testing.T) {
	huge, other := manifest("huge", Template{Name: "data", Class: "slow", Size: 500}, logs), manifest("other", Template{Name: "data", Class: "other", Size: 100}, logs)
	playAll(t, map[string]func(w *world){
		"on the way": func(w *world) {
			w.admits = &other
			w.stallsWith(api.ReasonTemplatesReverted, replicas)
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"on the way, and its user returns": func(w *world) {
			w.admits = &other
			w.stallsWith(api.ReasonTemplatesReverted, replicas)
			w.admits, w.mode = nil, api.ModeRollback
			w.finish()
		},
		"the mode changes after the creation": func(w *world) {
			w.until("it is created", func() bool { return w.record.Replace != nil && w.set != nil && w.set.manifest.Equals(w.wanted) })
			w.mode = api.ModeRollback
			w.finish()
		},
		"for an ordinal that returns, whose volume fits": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.admits, w.mode = &other, api.ModeRollback
			w.stallsWith(api.ReasonTemplatesReverted, replicas)
			w.admits = nil
			w.recreatedBy(w.former)
			w.finish()
		},
		"for an ordinal that returns, whose volume does not fit": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.admits, w.mode = &huge, api.ModeRollback
			w.stallsWith(api.ReasonTemplatesReverted, replicas-1)
			w.admits = nil
			w.recreatedBy(w.former)
			w.finish()
		},
	})
}

// TestSickOnNewVolumes: the application does not become Ready on its new volume. A rollback takes the ordinal back although
// it is down (I8), with all that it has written there, and stops no other.
func TestSickOnNewVolumes(t *testing.T) {
	for _, to := range []Manifest{smaller, larger, both} {
		for name, before := range map[string]func(w *world){
			"it returns": func(*world) {},
			"it returns while another replica is down": func(w *world) {
				w.failed, w.always = true, true
				w.pods[0].ready, w.pods[0].on = false, map[string]string{}
				w.pods[0].node = "node-0"
			},
			"it returns although no pass has measured its data": func(w *world) { w.used = 0 },
		} {
			t.Run(to.Text+": "+name, func(t *testing.T) {
				w := newWorld(t, to)
				w.sick = "fast"
				w.stallsWith(api.ReasonPodNotReady, replicas-1)
				before(w)
				w.mode = api.ModeRollback
				w.until("ordinal 2 is on a volume of its former template", func() bool {
					c := w.claims["data-web-2"]
					return c != nil && c.template == slowData && w.bound(c)
				})
				if w.evicted > 2 {
					w.fail("%d pods were evicted, and only that of ordinal 2 is to be", w.evicted)
				}
				w.pods[0].node = "" // it starts again
				w.finish()
			})
		}
	}
}

// TestSickPodsNeedTheirBudget: while another replica is down, the eviction API refuses a pod that is not Ready, too, unless the
// PodDisruptionBudget has unhealthyPodEvictionPolicy AlwaysAllow. No claim is deleted before, and the remedy names that.
func TestSickPodsNeedTheirBudget(t *testing.T) {
	w := newWorld(t, smaller)
	w.sick = "fast"
	w.stallsWith(api.ReasonPodNotReady, replicas-1)
	w.failed, w.mode = true, api.ModeRollback
	w.pods[0].ready, w.pods[0].on = false, map[string]string{}
	w.stallsWith(api.ReasonBudgetZero, replicas-2)
	if w.leaving(2) {
		w.fail("its claim is deleted")
	}
	if d := Plan(w.observe(), w); !strings.Contains(d.Hold.Remedy, "unhealthyPodEvictionPolicy") || !strings.Contains(d.Hold.Remedy, "unlock") {
		w.fail("the remedy is %q", d.Hold.Remedy)
	}
	w.always = true
	w.until("ordinal 2 is on a volume of its former template", func() bool {
		c := w.claims["data-web-2"]
		return c != nil && c.template == slowData && w.bound(c)
	})
	w.pods[0].node = "" // it starts again
	w.finish()
}

// TestRecordIsLost: the record of a migration is lost while an ordinal is down. The commands of the remedy start it again on its
// volume: nothing is provisioned.
func TestRecordIsLost(t *testing.T) {
	w := newWorld(t, smaller)
	w.attached = true // no sender names the claim
	w.until("ordinal 2 is down", w.down(2))
	w.record = Record{}
	w.stallsWith(api.ReasonAwaitingDeletion, replicas-1)
	remedy := Plan(w.observe(), w).Hold.Remedy
	for _, part := range []string{"patch pv pv-data-web-2", `"persistentVolumeReclaimPolicy":"Retain"`, `"name":"data-web-2","uid":null`, "edit pvc -n shop data-web-2"} {
		if !strings.Contains(remedy, part) {
			w.fail("%q lacks %q", remedy, part)
		}
	}
	v, c := w.volumes["pv-data-web-2"], w.claims["data-web-2"]
	v.retain, v.ref, c.held = true, volumes.Ref{Name: "data-web-2"}, false
	for _, o := range []*object{&v.object, &c.object, &w.set.object} {
		w.touch(o)
	}
	w.collect()
	for range 20 {
		w.turn()
	}
	if pod := w.pods[2]; pod == nil || !pod.ready || pod.on["data"] != v.name {
		w.fail("the pod of ordinal 2 is %+v", pod)
	}
}

// TestRecreationIsCurrent: the author of a set changes it between the record of its successor and its deletion, such as during a
// pause. The successor has that change, and no rollout is in progress at its deletion.
func TestRecreationIsCurrent(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"on the way": func(w *world) {
			w.until("its successor is recorded", func() bool { return w.record.Replace != nil })
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			w.wanted.Text = "smaller, with another image"
			w.mode = api.ModeRun
			w.finish()
			if w.set.manifest.Text != w.wanted.Text {
				w.fail("the set is created as %s", w.set.manifest.Text)
			}
		},
		"for an ordinal that returns": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.mode = api.ModeRollback
			w.until("its successor is recorded", func() bool { return w.record.Replace != nil })
			w.record.Former.Text = "former, with another image"
			w.finish()
			if w.set.manifest.Text != "former, with another image" {
				w.fail("the set is created as %s", w.set.manifest.Text)
			}
		},
		"a rollout begins": func(w *world) {
			w.until("its successor is recorded", func() bool { return w.record.Replace != nil })
			w.rolling = true
			w.stallsWith(api.ReasonRolloutInProgress, replicas)
			if w.set == nil || w.set.terminating {
				w.fail("the set is deleted")
			}
			w.rolling = false
			w.finish()
		},
	})
}

// TestDeletedVolumes: a user deletes the object of a volume, which exists while it is bound. Its claimRef does not change,
// and the binder ignores it.
func TestDeletedVolumes(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"the old one, before the stop": func(w *world) {
			w.volumes["pv-data-web-2"].departing = true
			w.stallsWith(volumes.ReasonVolumeLost, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.volumes["pv-data-web-2"].departing = false
			w.finish()
		},
		"the old one, after the stop": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.volumes["pv-data-web-2"].departing = true
			w.stallsWith(volumes.ReasonVolumeLost, replicas-1)
			w.volumes["pv-data-web-2"].departing = false
			w.finish()
		},
		"the old one, while its ordinal starts": func(w *world) {
			w.until("the claim is released", func() bool { return w.sealed() && w.claims["data-web-2"] == nil })
			w.volumes["pv-data-web-2"].departing = true
			w.stallsWith(volumes.ReasonVolumeLost, replicas)
			w.volumes["pv-data-web-2"].departing = false
			w.finish()
		},
		"the new one, after the seal": func(w *world) {
			w.until("it is sealed", w.sealed)
			w.volumes[w.record.Handoff.Slots[0].New].departing = true
			w.stallsWith(api.ReasonCopyTurnedBack, replicas)
			if got := w.claims["data-web-2"]; got.volume != "pv-data-web-2" {
				w.fail("it has not returned to its old volume: %+v", got)
			}
		},
	})
}

// TestNoVolumeFits: another writer's templates fit neither the new volume nor the old one. The ordinal stays stopped, because
// an empty volume would be provisioned, until the templates are right again.
func TestNoVolumeFits(t *testing.T) {
	w := newWorld(t, smaller)
	w.until("it is sealed", w.sealed)
	w.recreatedBy(manifest("huge", Template{Name: "data", Class: "fast", Size: 500}, logs))
	w.stallsWith(api.ReasonTemplatesReverted, replicas-1)
	if c := w.claims["data-web-2"]; c == nil || !c.held {
		w.fail("its claim was released: %+v", c)
	}
	w.recreatedBy(w.wanted)
	w.finish()
}

// idle is a filler that has nothing to do.
type idle struct{}

// Ahead implements Filler.
func (idle) Ahead(int32, Slot, volumes.Goal) volumes.Verdict { return volumes.Verdict{} }

// TestNoSeal: a filler that is done without a seal has proven nothing. The ordinal does not go on with its volume.
func TestNoSeal(t *testing.T) {
	w := newWorld(t, smaller)
	w.until("ordinal 2 is down, and its copy is not sealed", func() bool { return w.down(2)() && w.fills["data-web-2"].seal == "" })
	if d := Plan(w.observe(), idle{}); d.Hold == nil || d.Hold.Reason != volumes.ReasonCopyNotSealed {
		w.fail("got %+v, hold %+v", d, d.Hold)
	}
}

// TestModesMustFit: the binder ignores a reserved volume that lacks an access mode of the claim.
func TestModesMustFit(t *testing.T) {
	is := Volume{Size: 100, Modes: "ReadOnlyMany+ReadWriteOnce"}
	for modes, want := range map[string]bool{
		"ReadWriteOnce": true, "ReadOnlyMany": true, "ReadOnlyMany+ReadWriteOnce": true, "ReadWriteOncePod": false, "ReadWriteMany": false, "ReadWriteMany+ReadWriteOnce": false,
	} {
		if got := is.fits(Template{Size: 100, Modes: modes}); got != want {
			t.Errorf("%s: %t", modes, got)
		}
	}
}

// TestShrinkIsMeasured: a volume becomes smaller only after a pass has measured its data while the ordinal runs, and the
// margin counts. The ordinal is not stopped before.
func TestShrinkIsMeasured(t *testing.T) {
	for name, tc := range map[string]struct {
		used   int64
		reason string
	}{
		"not measured":      {0, volumes.ReasonCopyNotWarm},
		"within the margin": {46, volumes.ReasonCopySizeTooSmall},
		"fits exactly":      {45, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, smaller)
			if w.used = tc.used; tc.reason == "" {
				w.finish()
				return
			}
			w.stallsWith(tc.reason, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.used = 20
			w.finish()
		})
	}
}

// TestPolicyIsSetBack: another writer sets a volume back to the policy Delete after the stop. The volume gets Retain again before
// its claimRef changes: as a Released volume it would be deleted.
func TestPolicyIsSetBack(t *testing.T) {
	setBack := func(w *world, name string) {
		v := w.volumes[name]
		v.retain = false
		w.touch(&v.object)
	}
	playAll(t, map[string]func(w *world){
		"the old one is taken away, and its ordinal returns": func(w *world) {
			w.until("it is taken away", func() bool { return w.volumes["pv-data-web-2"].ref.Name == "outgoing" })
			w.mode = api.ModeRollback
			setBack(w, "pv-data-web-2")
			w.finish()
		},
		"the old one is Available, and its ordinal returns": func(w *world) {
			w.until("it is Available", func() bool { return w.volumes["pv-data-web-2"].available })
			w.mode = api.ModeRollback
			setBack(w, "pv-data-web-2")
			w.finish()
		},
		"the new one, before it is reserved": func(w *world) {
			w.until("it is sealed", w.sealed)
			setBack(w, w.record.Handoff.Slots[0].New)
			w.finish()
		},
		"the old one, before it is parked": func(w *world) {
			w.until("it is sealed", w.sealed)
			setBack(w, "pv-data-web-2")
			w.finish()
		},
		"the new one is reserved, and its ordinal returns": func(w *world) {
			w.until("it is reserved", func() bool {
				return w.sealed() && w.volumes[w.record.Handoff.Slots[0].New].ref.Name == "data-web-2"
			})
			setBack(w, w.record.Handoff.Slots[0].New)
			w.volumes[w.record.Handoff.Slots[0].New].template.Block = true
			w.stallsWith(api.ReasonCopyTurnedBack, replicas)
		},
	})
}
