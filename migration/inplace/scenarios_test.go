package inplace

import (
	"slices"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// stallsWith lets all act until nothing changes, and checks the reason, and how many pods are ready.
func (w *world) stallsWith(reason string, ready int) {
	w.t.Helper()
	last := w.settle()
	if last.Hold == nil || last.Hold.Reason != reason {
		w.fail("got %+v, hold %+v, want %s", last, last.Hold, reason)
	}
	if last.Hold.Stalled && last.Hold.Remedy == "" {
		w.fail("it has no remedy: %+v", last.Hold)
	}
	if w.ready() != ready {
		w.fail("%d pods are ready, want %d", w.ready(), ready)
	}
}

// until takes steps until a condition holds.
func (w *world) until(what string, holds func() bool) {
	w.t.Helper()
	for range 500 {
		if holds() {
			return
		}
		if w.steps(1) {
			break
		}
	}
	w.fail("never: %s", what)
}

// leaving reports whether the claim of an ordinal is Terminating.
func (w *world) leaving(ordinal int32) bool {
	c := w.claims[claimName("data", ordinal)]
	return c != nil && c.terminating
}

// down reports whether an ordinal has no pod, and its claim is held.
func (w *world) down(ordinal int32) func() bool {
	return func() bool { return w.leaving(ordinal) && w.pods[ordinal] == nil }
}

// sealed reports whether the seal of the ordinal in flight is recorded.
func (w *world) sealed() bool { return w.record.Handoff != nil && w.record.Handoff.Sealed }

// recreatedBy lets another writer recreate the set, and leave its pods, or update it if its templates change.
func (w *world) recreatedBy(to Manifest) {
	w.note("another writer gives the set other templates: %s", to.Text)
	if w.updates && w.set != nil {
		w.set.manifest = to
		w.touch(&w.set.object)
		return
	}
	w.set = &worldSet{object: w.fresh("set"), manifest: to}
}

// TestTraps: what other writers do, and what the cluster refuses, stops the migration with a reason. No pod starts without
// its data.
func TestTraps(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"whenDeleted Delete": func(w *world) {
			w.set.deletes = true
			w.stallsWith(volumes.ReasonClaimOwned, replicas)
			w.set.deletes = false
			w.finish()
		},
		"an operator owns the set": func(w *world) {
			w.set.owner, w.set.operator.Way = "Database main", "change the storage there"
			w.stallsWith(api.ReasonOwnedByOperator, replicas)
		},
		"GitOps writes the old templates back before the stop": func(w *world) {
			w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 })
			w.recreatedBy(w.former)
			w.stallsWith(api.ReasonTemplatesReverted, replicas)
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"GitOps writes the old templates back after the stop": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.recreatedBy(w.former)
			w.stallsWith(api.ReasonCopyTurnedBack, replicas)
			if got := w.claims["data-web-2"]; got.volume != "pv-data-web-2" {
				w.fail("it has not returned to its old volume: %+v", got)
			}
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			w.mode = api.ModeRun
			w.stallsWith(api.ReasonTemplatesReverted, replicas)
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"GitOps writes the old templates back after the seal": func(w *world) {
			w.until("it is sealed", w.sealed)
			w.recreatedBy(w.former)
			w.stallsWith(api.ReasonCopyTurnedBack, replicas)
		},
		"the set is deleted between its deletion and its creation": func(w *world) {
			w.until("it is being deleted", func() bool { return w.set.terminating })
			w.orphan()
			w.syncAll()
			w.finish()
		},
		"the set is deleted by another writer": func(w *world) {
			w.until("an ordinal has arrived", func() bool {
				c := w.claims["data-web-2"]
				return c != nil && c.template == smallData && w.record.Handoff == nil
			})
			w.set = nil
			w.stallsWith(api.ReasonSourceMissing, replicas)
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"another size is asked for in between": func(w *world) {
			w.until("an ordinal has arrived", func() bool {
				c := w.claims["data-web-2"]
				return c != nil && c.template == smallData && w.record.Handoff == nil
			})
			w.wanted = larger
			w.finish()
		},
		"the set is deleted while an ordinal is down": func(w *world) {
			w.until("it is sealed", w.sealed)
			w.set = nil
			w.stallsWith(api.ReasonSourceMissing, replicas-1)
			w.recreatedBy(w.wanted)
			w.finish()
		},
		"a second pod uses the claim": func(w *world) {
			w.claims["data-web-2"].users = []string{"backup"}
			w.stallsWith(volumes.ReasonForeignPod, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.claims["data-web-2"].users = nil
			w.finish()
		},
		"a finalizer of another writer would keep the claim": func(w *world) {
			c := w.claims["data-web-2"]
			for _, at := range []bool{false, true} {
				w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 || !at })
				c.stays = volumes.Stalled(volumes.ReasonForeignFinalizer, "it would stay", "remove the finalizer")
				w.stallsWith(volumes.ReasonForeignFinalizer, replicas)
				c.stays = nil
			}
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.finish()
		},
		"a finalizer of another writer would keep the set": func(w *world) {
			w.set.keeps = []string{"example.com/backup"}
			w.stallsWith(volumes.ReasonForeignFinalizer, replicas)
			if w.set.terminating {
				w.fail("the set is deleted")
			}
			w.set.keeps = nil
			w.finish()
		},
		"a second pod uses the claim since its deletion": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.claims["data-web-2"].users = []string{"backup"}
			w.stallsWith(api.ReasonClaimInUse, replicas)
			w.claims["data-web-2"].users = nil
			w.finish()
		},
		"a second pod uses the claim since its deletion, and the ordinal returns": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.claims["data-web-2"].users = []string{"backup"}
			w.mode = api.ModeRollback
			w.stallsWith(api.ReasonClaimInUse, replicas)
			w.claims["data-web-2"].users = nil
			w.finish()
		},
		"a second pod uses the claim after the stop": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.claims["data-web-2"].users = []string{"backup"}
			w.stallsWith(api.ReasonClaimInUse, replicas-1)
			w.claims["data-web-2"].users = nil
			w.finish()
		},
		"a second PodDisruptionBudget selects the pods": func(w *world) {
			w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 })
			w.second = true
			w.stallsWith(api.ReasonSeveralBudgets, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.second = false
			w.finish()
		},
		"ReadWriteOncePod: no warm pass is possible": func(w *world) {
			w.cold = true
			w.finish()
		},
		"a PodDisruptionBudget of 0": func(w *world) {
			w.healthy = replicas
			w.stallsWith(api.ReasonBudgetZero, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.healthy--
			w.finish()
		},
		"a PodDisruptionBudget that becomes 0 after the deletion of the claim": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.healthy = replicas
			w.stallsWith(api.ReasonBudgetZero, replicas)
			w.healthy--
			w.finish()
		},
		"the data do not fit": func(w *world) {
			w.used = smallData.Size
			w.stallsWith(volumes.ReasonCopySizeTooSmall, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.mode = api.ModeRollback
			w.finish()
		},
		"the node is lost": func(w *world) {
			w.lost = "node-2"
			w.stallsWith(api.ReasonPodTerminating, replicas-1)
			w.mode = api.ModeRollback
			w.stallsWith(api.ReasonPodTerminating, replicas-1)
			w.mode, w.lost = api.ModeRun, ""
			w.finish()
		},
	})
}

// TestTrapsOfOthers: other pods, late caches and other writers do no harm either.
func TestTrapsOfOthers(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"another replica is down": func(w *world) {
			w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 })
			w.pods[0].ready, w.pods[0].node, w.pods[0].on = false, "", map[string]string{}
			d := Plan(w.observe(), w)
			for d.Action != nil && d.Action.Verb == Fill || d.Record != nil || d.Action != nil && d.Action.Verb == Secure {
				w.perform(d)
				d = Plan(w.observe(), w)
			}
			if d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
				w.fail("got %+v, hold %+v (I5)", d, d.Hold)
			}
			w.finish()
		},
		"another replica fails before the eviction, without a PodDisruptionBudget": func(w *world) {
			w.healthy = 0
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.pods[0].ready, w.pods[0].node, w.pods[0].on = false, "", map[string]string{}
			if d := Plan(w.observe(), w); d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
				w.fail("got %+v, hold %+v (I4)", d, d.Hold)
			}
			w.finish()
		},
		"a rollback before anything was done": func(w *world) {
			w.mode = api.ModeRollback
			w.finish()
			if w.record.Former.Text != "" || w.set.uid != w.sets.set.uid || w.set.manifest.Text != "former" {
				w.fail("the set was recreated: %+v", w.record)
			}
		},
		"another writer removes the finalizer while the pod runs": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.claims["data-web-2"].held = false
			w.stallsWith(api.ReasonCopyTurnedBack, replicas)
			if got := w.claims["data-web-2"]; got.volume != "pv-data-web-2" {
				w.fail("it has not returned to its old volume: %+v", got)
			}
		},
	})
}

// TestTrapsOfClaims: an ordinal starts on no other volume than that which was reserved for it.
func TestTrapsOfClaims(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"a claim is created late, for a volume of an earlier handoff": func(w *world) {
			w.until("the claim is released", func() bool { return w.sealed() && w.claims["data-web-2"] == nil })
			if !w.createClaim(Action{Verb: CreateClaim, Name: "data-web-2", Template: "data", Volume: "pv-data-web-2"}) {
				w.fail("no claim was created")
			}
			w.finish()
		},
		"a claim of another writer names another volume": func(w *world) {
			w.until("the claim is released", func() bool { return w.sealed() && w.claims["data-web-2"] == nil })
			w.createClaim(Action{Verb: CreateClaim, Name: "data-web-2", Template: "data", Volume: "pv-data-web-2"})
			w.claims["data-web-2"].ours = false
			w.stallsWith(volumes.ReasonForeignVolume, replicas-1)
		},
		"the pod is created by a late cache": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.perform(Plan(w.observe(), w)) // the eviction
			w.run()
			w.syncSetPods()
			w.controlSet() // the cache has the claim as it was
			if w.pods[2] == nil {
				w.fail("no pod was created")
			}
			w.finish()
		},
		"the templates are reverted in the moment of the release": func(w *world) {
			w.foreign = true
			w.until("the claim is released", func() bool { return w.sealed() && w.claims["data-web-2"] == nil })
			w.recreatedBy(w.former)
			w.stallsWith(volumes.ReasonForeignVolume, replicas)
			for _, name := range []string{"pv-data-web-2", w.record.Handoff.Slots[0].New} {
				if v := w.volumes[name]; v == nil || !v.retain {
					w.fail("volume %s is not kept: %+v", name, v)
				}
			}
		},
	})
}

// TestPauses: a pause begins nothing, and ends what keeps an ordinal down.
func TestPauses(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"a pause finishes the recreation of the set": func(w *world) {
			w.until("it is being deleted", func() bool { return w.set.terminating })
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			if w.set == nil || !w.set.manifest.Equals(w.wanted) {
				w.fail("the set was not created: %+v", w.set)
			}
			w.mode = api.ModeRun
			w.finish()
		},
		"a pause finishes an ordinal that is down": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			if got := w.claims["data-web-2"]; got.template != smallData {
				w.fail("it was not finished: %+v", got)
			}
		},
		"a pause leaves an ordinal that runs": func(w *world) {
			w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 })
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.mode = api.ModeRun
			w.finish()
		},
		"its author has recreated the set before": func(w *world) {
			w.set.manifest = w.wanted
			w.finish()
		},
	})
}

// standsBy reports whether the pods of the last pass of ordinal 2 wait for its stop.
func (w *world) standsBy() bool {
	f := w.fills["data-web-2"]
	return f != nil && f.names() && f.runs(volumes.RoleSender) && f.runs(volumes.RoleReceiver)
}

// TestStandby: pods of the filler that stand by are no reason to stop an ordinal, and the ordinal does not wait for those
// that are lost.
func TestStandby(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"the sender dies before the stop": func(w *world) {
			w.until("they stand by", w.standsBy)
			w.dies(2, volumes.RoleSender)
			w.until("they stand by again", w.standsBy)
			if w.leaving(2) {
				w.fail("its claim is deleted, and no sender stands by")
			}
			w.finish()
		},
		"the sender dies after the deletion of the claim": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.dies(2, volumes.RoleSender)
			w.until("another one reads the outgoing claim", func() bool {
				f := w.fills["data-web-2"]
				return f != nil && f.released && f.runs(volumes.RoleSender) && !f.names()
			})
			w.finish()
		},
		"the receiver dies after the deletion of the claim": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.dies(2, volumes.RoleReceiver)
			w.finish()
		},
		"the receiver is deleted between the seal and the start": func(w *world) {
			w.until("it is sealed", w.sealed)
			delete(w.fills["data-web-2"].movers, volumes.RoleReceiver)
			w.finish()
		},
		"a PodDisruptionBudget that becomes 0 while they stand by": func(w *world) {
			w.until("they stand by", w.standsBy)
			w.healthy = replicas
			w.stallsWith(api.ReasonBudgetZero, replicas)
			if f := w.fills["data-web-2"]; w.leaving(2) || len(f.movers) > 0 || !f.warm {
				w.fail("its claim is deleted, or they are left: %+v", f)
			}
			w.healthy--
			w.finish()
		},
		"a refused eviction, and a rollback: the pod comes back": func(w *world) {
			w.until("its claim is deleted", func() bool { return w.leaving(2) })
			w.healthy = replicas
			w.stallsWith(api.ReasonBudgetZero, replicas)
			if !w.standsBy() {
				w.fail("the sender does not stand by any more: %+v", w.fills["data-web-2"])
			}
			w.mode = api.ModeRollback
			w.stallsWith(api.ReasonBudgetZero, replicas)
			w.healthy--
			w.finish()
		},
		"a pause while they stand by": func(w *world) {
			w.until("they stand by", w.standsBy)
			w.mode = api.ModePause
			w.stallsWith(api.ReasonPaused, replicas)
			if f := w.fills["data-web-2"]; len(f.movers) > 0 || !f.warm {
				w.fail("they are left: %+v", f)
			}
			w.mode = api.ModeRun
			w.finish()
		},
	})
}

// TestOutage: between the eviction of a pod and the Ready one, nothing is written that could be written before or after.
func TestOutage(t *testing.T) {
	start := []string{"Reserve", "ReleaseClaim", "CreateClaim", "PokeSet"}
	late := []string{"FillRelease", "FillBind", "FillSender", "FillPass"}
	for name, tc := range map[string]struct {
		change func(*world)
		fill   []string
	}{
		"as usual":                   {func(*world) {}, []string{"FillRelease", "FillPass", "FillEndSender"}},
		"the volume is attached":     {func(w *world) { w.attached = true }, late},
		"no warm pass, and attached": {func(w *world) { w.attached, w.cold, w.wanted = true, true, faster }, append(slices.Clone(late), "Secure")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, smaller)
			tc.change(w)
			if got, want := w.outage(2), slices.Concat([]string{"Evict"}, tc.fill, start); !slices.Equal(got, want) {
				t.Errorf("the writes are\n%s, want\n%s", got, want)
			}
		})
	}
}

// outage returns the writes from the eviction of the pod of an ordinal until it is Ready again.
func (w *world) outage(ordinal int32) (writes []string) {
	w.t.Helper()
	for range 500 {
		w.turn()
		if pod := w.pods[ordinal]; len(writes) > 1 && pod != nil && pod.ready {
			return writes
		}
		d := Plan(w.observe(), w)
		if a := d.Action; a != nil && (a.Verb == Evict || len(writes) > 0) {
			verb := string(a.Verb)
			if a.Fill != nil {
				verb = string(a.Fill.Verb)
			}
			writes = append(writes, verb)
		}
		w.perform(d)
	}
	w.fail("it is not Ready again: %v", writes)
	return nil
}

// playAll plays scenarios in which volumes become smaller.
func playAll(t *testing.T, scenarios map[string]func(w *world)) {
	t.Helper()
	for name, play := range scenarios {
		t.Run(name, func(t *testing.T) { play(newWorld(t, smaller)) })
	}
}

// TestUpdatedSets: a set whose claim templates change by an update is never deleted, keeps its UID, and is not written while
// its strategy does not permit it.
func TestUpdatedSets(t *testing.T) {
	scenarios := map[string]func(w *world){
		"by the migration": func(w *world) {
			w.finish()
		},
		"by their author": func(w *world) {
			w.set.manifest = w.wanted
			w.finish()
			if w.record.Former.Text != "" {
				w.fail("the set was written: %+v", w.record.Former)
			}
		},
		"not before they may": func(w *world) {
			w.set.locked = "it has no strategy"
			w.stallsWith(api.ReasonKindUnsupported, replicas)
			if !w.set.manifest.Equals(w.former) || len(w.fills) > 0 {
				w.fail("it has begun: %+v", w.set)
			}
			w.set.locked = ""
			w.finish()
		},
		"the strategy changes before a stop": func(w *world) {
			w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 })
			w.set.locked = "its controller resizes claims"
			w.stallsWith(api.ReasonKindUnsupported, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.set.locked = ""
			w.finish()
		},
		"the strategy changes after a stop": func(w *world) {
			w.until("ordinal 2 is down", w.down(2))
			w.set.locked = "its controller resizes claims"
			w.stallsWith(api.ReasonKindUnsupported, replicas)
			w.set.locked = ""
			w.finish()
		},
		"the set is deleted by another writer": func(w *world) {
			w.until("it is sealed", w.sealed)
			former := *w.set
			w.set = nil
			w.stallsWith(api.ReasonSourceMissing, replicas-1)
			w.set = &former
			w.finish()
		},
		"a rollback after the last ordinal": func(w *world) {
			w.finish()
			w.mode = api.ModeRollback
			w.finish()
		},
	}
	for name, play := range scenarios {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, smaller)
			w.updates = true
			uid := w.set.uid
			play(w)
			if w.set.uid != uid {
				t.Errorf("the set is %s, and was %s", w.set.uid, uid)
			}
		})
	}
}

// TestOperators: the claim templates of an operator's set change only while the operator is paused, if it accepts them later.
func TestOperators(t *testing.T) {
	playAll(t, map[string]func(w *world){
		"it would write its own": func(w *world) {
			w.set.owner, w.set.operator = "Kafka east", Operator{Paused: true, Way: "create a node pool"}
			w.stallsWith(api.ReasonOwnedByOperator, replicas)
		},
		"it is paused later": func(w *world) {
			w.set.owner, w.set.operator = "RabbitmqCluster east", Operator{Field: "spec.persistence", Way: "pause it"}
			w.stallsWith(api.ReasonOwnedByOperator, replicas)
			w.set.operator.Paused = true
			w.finish()
		},
		"it is resumed too early": func(w *world) {
			w.updates = true // so that the set stays the same
			w.set.owner, w.set.operator = "RabbitmqCluster east", Operator{Field: "spec.persistence", Way: "pause it", Paused: true}
			w.until("an ordinal is warm", func() bool { return len(w.fills) > 0 })
			w.set.operator.Paused = false
			w.stallsWith(api.ReasonOwnedByOperator, replicas)
			if w.leaving(2) {
				w.fail("its claim is deleted")
			}
			w.set.operator.Paused = true
			w.finish()
		},
	})
}

// TestLargerVolumesDoNotReturn: an ordinal whose old volume is smaller than its present template gets the former template
// back first. Otherwise an empty volume would be provisioned.
func TestLargerVolumesDoNotReturn(t *testing.T) {
	w := newWorld(t, larger)
	w.until("ordinal 2 is down", w.down(2))
	w.mode = api.ModeRollback
	w.until("it is turned back", func() bool { return w.record.Handoff != nil && w.record.Handoff.Turned })
	w.until("the set has its former templates", func() bool { return w.set != nil && w.set.manifest.Equals(w.former) })
	if w.claims["data-web-2"] == nil || !w.claims["data-web-2"].held {
		w.fail("its claim was released before: %+v", w.claims["data-web-2"])
	}
	w.finish()
}

// TestFits: the binder ignores a reserved volume that is smaller, or of another mode or attributes class.
func TestFits(t *testing.T) {
	is := Volume{Size: 100, Attributes: "gold"}
	for name, tc := range map[string]struct {
		template Template
		want     bool
	}{
		"equal":              {Template{Size: 100, Attributes: "gold"}, true},
		"of another class":   {Template{Size: 100, Attributes: "gold", Class: "fast"}, true},
		"larger than needed": {Template{Size: 50, Attributes: "gold"}, true},
		"too small":          {Template{Size: 101, Attributes: "gold"}, false},
		"blocks":             {Template{Size: 100, Attributes: "gold", Block: true}, false},
		"other attributes":   {Template{Size: 100}, false},
	} {
		if got := is.fits(tc.template); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestEachClaimIsHeld: another writer removes the finalizer of a second claim before its deletion. It is held again first:
// otherwise its name would be free as soon as the pod has ended.
func TestEachClaimIsHeld(t *testing.T) {
	w := newWorld(t, both)
	w.until("the first claim is deleted", func() bool { return w.leaving(2) })
	if second := w.claims["logs-web-2"]; second.terminating || !second.held {
		w.fail("both claims were deleted at once, or one without the finalizer: %+v", second)
	}
	w.claims["logs-web-2"].held = false
	w.finish()
}
