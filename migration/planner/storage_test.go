package planner

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// Claim templates of the tests, as recorded.
const (
	formerSet = `{"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"slow","resources":{"requests":{"storage":"1Gi"}}}}]}}`
	wantedSet = `{"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"512Mi"}}}}]}}`
)

func manifestOf(text, class string, size int64) inplace.Manifest {
	return inplace.Manifest{Text: text, Templates: []inplace.Template{{Name: "data", Class: class, Size: size, Modes: "ReadWriteOnce"}}}
}

// inPlaceSnapshot returns a set of three replicas, of which those in moved have their new volumes.
func inPlaceSnapshot(moved ...int32) plan.Snapshot {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	wanted, former := manifestOf(wantedSet, "fast", 512<<20), manifestOf(formerSet, "slow", 1<<30)
	set := plan.Set{Presence: plan.Seen, Name: "web", UID: "set", ResourceVersion: "7", Replicas: 3, Observed: true, RolledOut: true, Fence: "m.1", Templates: []string{"data"}}
	s := plan.Snapshot{
		Now: now, UID: "m", Holder: "me", Engaged: true, Migration: types.NamespacedName{Namespace: "shop", Name: "web"},
		Spec: plan.Spec{Mode: api.ModeRun, SameCluster: true, SameNamespace: true, Deadline: time.Minute, Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mover"}}}},
		Record: plan.Record{
			Accepted: true, Fence: &api.Fence{Epoch: 1, Holder: "me", Direction: api.Forward}, Storage: inplace.Record{Former: former, Reached: api.ModeRun, Written: wanted.Templates}.Status(),
			Baseline: &api.Baseline{Replicas: 3, Budget: 1, SourceUID: "set", SourceCluster: "c", DestinationCluster: "c", Services: &api.ServicesSpec{}, Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}},
		},
		Source:      plan.Side{Cluster: "east", Namespace: "shop", ClusterID: "c", Reach: plan.Seen, NamespaceFound: true, Set: set},
		Destination: plan.Side{Cluster: "east", Namespace: "shop", ClusterID: "c", Reach: plan.Seen, NamespaceFound: true},
		Storage:     &plan.Storage{Set: inplace.Set{Found: true, Namespace: "shop", Name: "web", UID: "set", ResourceVersion: "7", RolledOut: true, Manifest: wanted}, Wanted: wanted, Former: former, Margin: 10},
	}
	has := map[int32]bool{}
	for _, k := range moved {
		has[k] = true
	}
	for k := range int32(3) {
		s.Source.SetPod(plan.Pod{Ordinal: k, UID: types.UID(fmt.Sprint("pod-", k)), Ready: true, ReadySince: now.Add(-time.Hour), Owned: true, Node: "n"})
		s.Volumes = append(s.Volumes, claimOfTest(k, has[k]))
	}
	return s
}

// claimOfTest returns the claim of an ordinal, on its old volume or on its new one.
func claimOfTest(k int32, moved bool) plan.OrdinalVolume {
	ref := volumes.Ref{Namespace: "shop", Name: plan.ClaimName("data", "web", k)}
	name, uid := fmt.Sprint("old-", k), types.UID(fmt.Sprint("claim-", k))
	v := plan.OrdinalVolume{Ordinal: k, Template: "data", Method: api.MethodCopy, Needs: drift.Copy, Returns: drift.Nothing, Copy: &volumes.Copying{Asked: volumes.CopyAsked{Image: "mover"}}}
	if moved {
		name, v.Needs, v.Returns = fmt.Sprint("new-", k), drift.Nothing, drift.Copy
	}
	v.Source = volumes.Holding{
		Ref:    ref,
		Claim:  volumes.Claim{Found: true, UID: uid, ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: name},
		Volume: volumes.Volume{Found: true, Name: name, UID: types.UID(name), ResourceVersion: "1", Phase: corev1.VolumeBound, Policy: corev1.PersistentVolumeReclaimDelete, ClaimRef: volumes.Ref{Namespace: ref.Namespace, Name: ref.Name, UID: uid}, Size: 1 << 30, Handle: "driver^" + name},
	}
	v.Destination = volumes.Holding{Ref: ref}
	return v
}

// replacing adds the handoff of an ordinal, whose claim was deleted or has been replaced.
func replacing(s plan.Snapshot, k int32, change func(*inplace.Handoff, *plan.OrdinalVolume)) plan.Snapshot {
	record := inplace.RecordOf(s.Record.Storage, nil)
	v := &s.Volumes[k]
	record.Handoff = &inplace.Handoff{Ordinal: k, Slots: []inplace.Handed{{Template: "data", Claim: v.Source.Claim.UID, Old: v.Source.Volume.Name}}}
	change(record.Handoff, v)
	if record.Handoff.Return {
		v.Source, v.Destination = v.Destination, v.Source
	}
	s.Record.Storage = record.Status()
	s.Record.Handoff = &api.Handoff{Ordinal: k, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Name: record.Handoff.Slots[0].Old}}}
	return s
}

// TestAsSlices: the set of a migration in place is shown as two slices that a move could have.
func TestAsSlices(t *testing.T) {
	deleted := func(_ *inplace.Handoff, v *plan.OrdinalVolume) {
		v.Source.Claim.Terminating, v.Source.Claim.Held = true, true
	}
	returns := func(h *inplace.Handoff, v *plan.OrdinalVolume) { h.Return = true; deleted(h, v) }
	arrived := func(h *inplace.Handoff, v *plan.OrdinalVolume) {
		h.Sealed, h.Slots[0].New, h.Slots[0].Seal = true, "new", "seal"
		v.Source.Claim.UID, v.Source.Claim.Volume, v.Needs = "next", "new", drift.Nothing
		v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "new", ClaimRef: volumes.Ref{Namespace: "shop", Name: v.Source.Ref.Name, UID: "next"}}
	}
	turned := func(h *inplace.Handoff, v *plan.OrdinalVolume) {
		h.Turned, h.Why = true, "why"
		v.Source.Claim.UID, v.Source.Volume.ClaimRef.UID = "next", "next"
	}
	runs := func(*inplace.Handoff, *plan.OrdinalVolume) {}
	back := func(s plan.Snapshot) plan.Snapshot { s.Spec.Mode = api.ModeRollback; return s }
	lowest := func(s plan.Snapshot) plan.Snapshot { s.Spec.Order = api.LowestFirst; return s }
	for name, tc := range map[string]struct {
		s    plan.Snapshot
		want string
	}{
		"none has moved":                        {inPlaceSnapshot(), "source [0,3) of 3 pods, destination [3,3) of 0"},
		"one has":                               {inPlaceSnapshot(2), "source [0,2) of 2 pods, destination [2,3) of 1"},
		"all have":                              {inPlaceSnapshot(0, 1, 2), "source [0,0) of 0 pods, destination [0,3) of 3"},
		"one in between needed nothing":         {inPlaceSnapshot(1, 2), "source [0,1) of 1 pods, destination [1,3) of 2"},
		"one below needed nothing":              {inPlaceSnapshot(0), "source [0,3) of 3 pods, destination [3,3) of 0"},
		"the lowest first":                      {lowest(inPlaceSnapshot(0)), "source [1,3) of 2 pods, destination [0,1) of 1"},
		"one is copied":                         {replacing(inPlaceSnapshot(2), 1, runs), "source [0,2) of 2 pods, destination [2,3) of 1"},
		"one is stopped":                        {replacing(inPlaceSnapshot(2), 1, deleted), "source [0,1) of 2 pods, destination [2,3) of 1"},
		"one is stopped, the lowest first":      {lowest(replacing(inPlaceSnapshot(0), 1, deleted)), "source [2,3) of 2 pods, destination [0,1) of 1"},
		"one arrives":                           {replacing(inPlaceSnapshot(2), 1, arrived), "source [0,1) of 1 pods, destination [1,3) of 2"},
		"one was turned back":                   {replacing(inPlaceSnapshot(2), 1, turned), "source [0,2) of 2 pods, destination [2,3) of 1"},
		"back, none has returned":               {back(inPlaceSnapshot(1, 2)), "source [0,1) of 1 pods, destination [1,3) of 2"},
		"back, one is stopped":                  {back(replacing(inPlaceSnapshot(1, 2), 1, returns)), "source [0,1) of 1 pods, destination [2,3) of 2"},
		"back, all have returned":               {back(inPlaceSnapshot()), "source [0,3) of 3 pods, destination [3,3) of 0"},
		"the mode changes while one is stopped": {back(replacing(inPlaceSnapshot(2), 1, deleted)), "source [0,1) of 2 pods, destination [2,3) of 1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := AsSlices(tc.s)
			got := fmt.Sprintf("source %s of %d pods, destination %s of %d", plan.Span(s.Source.Set.Start, s.Source.Set.Replicas), len(s.Source.Pods), plan.Span(s.Destination.Set.Start, s.Destination.Set.Replicas), len(s.Destination.Pods))
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if v := viewOf(s); v.layout.broken != "" {
				t.Errorf("no slices of a move: %s", v.layout.broken)
			}
		})
	}
}

// TestStorageBegins: the next ordinal begins only when no gate holds, and its record names the claim and the volume.
func TestStorageBegins(t *testing.T) {
	s := AsSlices(inPlaceSnapshot(2))
	d := Plan(s)
	if d.Record == nil || d.Record.Handoff == nil || d.Record.Handoff.Ordinal != 1 || d.Record.Handoff.Volumes[0].Name != "old-1" || d.Record.Storage.Handoff.Claims[0].UID != "claim-1" {
		t.Fatalf("got %+v", d)
	}
	down := inPlaceSnapshot(2)
	down.Source.Pods[2].Ready = false
	if d := Plan(AsSlices(down)); d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
		t.Errorf("with a replica down: %+v", d)
	}
	paused := inPlaceSnapshot(2)
	paused.Spec.Mode = api.ModePause
	if d := Plan(AsSlices(paused)); d.Hold == nil || d.Hold.Reason != api.ReasonPaused {
		t.Errorf("paused: %+v", d)
	}
	ended := Plan(AsSlices(inPlaceSnapshot(0, 1, 2)))
	if ended.Record == nil || ended.Record.Completed != api.ReasonMoved {
		t.Errorf("at the end: %+v", ended)
	}
}

// TestStorageFindings: what cannot be changed in place is refused before the first write.
func TestStorageFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"all is well":        {func(*plan.Snapshot) {}, ""},
		"an operator's":      {func(s *plan.Snapshot) { s.Storage.Set.Owner = "Kafka east" }, api.ReasonOwnedByOperator},
		"locked by its kind": {func(s *plan.Snapshot) { s.Storage.Set.Locked = "no strategy" }, api.ReasonKindUnsupported},
		"gaps":               {func(s *plan.Snapshot) { s.Source.Set.Reserves = true }, api.ReasonKindUnsupported},
		"deletes its claims": {func(s *plan.Snapshot) { s.Storage.Set.DeletesClaims = true }, volumes.ReasonClaimOwned},
		"a part of them":     {func(s *plan.Snapshot) { s.Spec.Count = 1 }, api.ReasonCountTooLarge},
		"nothing changes":    {func(s *plan.Snapshot) { *s = inPlaceSnapshot(0, 1, 2) }, api.ReasonNothingToMove},
		"by Empty":           {func(s *plan.Snapshot) { s.Spec.Volumes[0].Method = api.MethodEmpty }, volumes.ReasonUnknownMethod},
		"by Rebind":          {rebound, api.ReasonStorageUnfit + " " + api.ReasonStorageUnfit + " " + api.ReasonStorageUnfit},
		"grown by Rebind": {func(s *plan.Snapshot) {
			rebound(s)
			for i := range s.Volumes {
				s.Volumes[i].Needs, s.Volumes[i].Source.Claim.OncePod, s.Volumes[i].Source.Claim.Owned = drift.Expand, true, true
			}
		}, ""},
		"grown, and not bound": {func(s *plan.Snapshot) { s.Volumes[1].Needs, s.Volumes[1].Source.Claim.Volume = drift.Expand, "" }, volumes.ReasonClaimNotBound},
		"proven later":         {func(s *plan.Snapshot) { s.Spec.Volumes[0].Copy.Verify = api.CopyVerifyLater }, volumes.ReasonCopyProvesLater},
		"files into blocks":    {func(s *plan.Snapshot) { s.Volumes[1].Needs = drift.Refill }, volumes.ReasonClaimDiverges},
		"no class":             {func(s *plan.Snapshot) { s.Volumes[1].Needs = drift.Undecided }, volumes.ReasonClassMissing},
		"not bound":            {func(s *plan.Snapshot) { s.Volumes[1].Source.Claim.Volume = "" }, volumes.ReasonClaimNotBound},
		"kept by a migration whose record is lost": {func(s *plan.Snapshot) {
			c := &s.Volumes[1].Source.Claim
			c.Terminating, c.Held, s.Volumes[1].Needs = true, true, drift.Nothing
		}, volumes.ReasonClaimNotBound},
		"a deleted volume": {func(s *plan.Snapshot) { s.Volumes[1].Source.Volume.Terminating = true }, volumes.ReasonVolumeLost},
		"owned":            {func(s *plan.Snapshot) { s.Volumes[1].Source.Claim.Owned = true }, volumes.ReasonClaimOwned},
		"of one pod":       {func(s *plan.Snapshot) { s.Volumes[1].Source.Claim.OncePod = true }, volumes.ReasonClaimNotShareable},
		"of one pod, by Snapshot": {func(s *plan.Snapshot) {
			s.Volumes[1].Source.Claim.OncePod, s.Volumes[1].Method = true, api.MethodSnapshot
		}, ""},
		"used by another": {func(s *plan.Snapshot) { s.Volumes[1].Source.Claim.Users = []string{"backup"} }, volumes.ReasonForeignPod},
		"an objection":    {func(s *plan.Snapshot) { s.Storage.Objections = []plan.Finding{{Reason: api.ReasonKindUnsupported}} }, api.ReasonKindUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s := inPlaceSnapshot()
			tc.change(&s)
			s.Record = plan.Record{}
			var reasons []string
			for _, finding := range storageFindings(AsSlices(s)) {
				reasons = append(reasons, finding.Reason)
			}
			if got := strings.Join(reasons, " "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestStorageCreatesClaims: when the former claim is deleted, the next one is created in the form of the present template, on
// the volume that is reserved for it. A late one for another volume is deleted.
func TestStorageCreatesClaims(t *testing.T) {
	released := func(change func(*plan.OrdinalVolume)) plan.Decision {
		return Plan(AsSlices(replacing(inPlaceSnapshot(2), 1, func(h *inplace.Handoff, v *plan.OrdinalVolume) {
			h.Sealed, h.Slots[0].New, h.Slots[0].Seal = true, "new", "seal"
			v.Source.Claim = volumes.Claim{}
			v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "new", Phase: corev1.VolumeAvailable, Size: 512 << 20, Modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, ClaimRef: v.Source.Ref}
			change(v)
		})))
	}
	d := released(func(*plan.OrdinalVolume) {})
	if e := d.Effect; e == nil || e.Volume.Verb != volumes.CreateClaim || e.Volume.Volume != "new" || e.Volume.Ref.Name != "data-web-1" || e.Volume.Copy.Like == nil || *e.Volume.Copy.Like.Spec.StorageClassName != "fast" || e.Ordinal != 1 {
		t.Errorf("got %+v", d)
	}
	d = released(func(v *plan.OrdinalVolume) {
		v.Source.Claim = volumes.Claim{Found: true, UID: "late", ResourceVersion: "9", Ours: true, Phase: corev1.ClaimPending, Volume: "old-1"}
	})
	if e := d.Effect; e == nil || e.Volume.Verb != volumes.DeleteLost || e.Volume.UID != "late" || e.Volume.ResourceVersion != "9" {
		t.Errorf("a late one: %+v", d)
	}
}

// TestStorageSealNamesItsMigration: the seal on a volume shows which migration has filled it. It outlives that migration, and
// the claim may have been created by the controller of the set.
func TestStorageSealNamesItsMigration(t *testing.T) {
	d := Plan(AsSlices(replacing(inPlaceSnapshot(2), 1, func(h *inplace.Handoff, v *plan.OrdinalVolume) {
		h.Sealed, h.Slots[0].New, h.Slots[0].Seal = true, "new", "seal"
		v.Source.Claim.Terminating, v.Source.Claim.Held = true, true
		v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "new", Phase: corev1.VolumeBound, Policy: corev1.PersistentVolumeReclaimRetain, Size: 512 << 20, Modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}
	})))
	if e := d.Effect; e == nil || e.Volume.Verb != volumes.Point || e.Volume.Volume != "new" || !volumes.SealedBy(e.Volume.After.Seal, "m") || !strings.HasPrefix(e.Volume.After.Seal, "seal ") {
		t.Errorf("got %+v, effect %+v", d, d.Effect)
	}
}

// TestStorageStandsBy: no mover stands by for the stop while a gate holds.
func TestStorageStandsBy(t *testing.T) {
	warm := func(change func(*plan.Snapshot)) volumes.Verdict {
		s := replacing(inPlaceSnapshot(2), 1, func(*inplace.Handoff, *plan.OrdinalVolume) {})
		s.Record.Handoff.Volumes[0].Copy = api.CopyAttempt{Number: 7, Giver: string(plan.SourceSide), Begun: "m.1", Filling: true, Warm: api.CopyWarm{Passes: 1, Ended: metav1.NewTime(s.Now)}}
		s.Volumes[1].Copy.Incoming = volumes.Holding{Ref: volumes.Ref{Namespace: "shop", Name: "in"}, Claim: volumes.Claim{Found: true, Ours: true, UID: "in", Phase: corev1.ClaimBound, Volume: "new"}}
		s.Volumes[1].Copy.Entrance = volumes.Entrance{Found: true, Address: "receiver:1"}
		change(&s)
		return storagePlanner{viewOf(AsSlices(s))}.Ahead(1, inplace.Slot{Template: "data"}, volumes.Standby)
	}
	if got := warm(func(*plan.Snapshot) {}); got.Action == nil || got.Action.Verb != volumes.CreateMover || got.Action.Copy.Role != volumes.RoleReceiver || got.Action.Copy.Warm {
		t.Errorf("got %+v", got)
	}
	if got := warm(func(s *plan.Snapshot) { s.Source.Pods[2].Ready = false }); !got.Done() {
		t.Errorf("while another replica is down: %+v", got)
	}
}

// TestStorageIsScaled: another writer scales the set. No ordinal is stopped then, and one that is down or starts is brought up
// first.
func TestStorageIsScaled(t *testing.T) {
	deleted := func(_ *inplace.Handoff, v *plan.OrdinalVolume) {
		v.Source.Claim.Terminating, v.Source.Claim.Held = true, true
	}
	starts := func(h *inplace.Handoff, v *plan.OrdinalVolume) {
		h.Sealed, h.Slots[0].New, h.Slots[0].Seal = true, "new", "seal"
		v.Source.Claim.UID, v.Source.Claim.Volume, v.Needs = "next", "new", drift.Nothing
		v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "new", ClaimRef: volumes.Ref{Namespace: "shop", Name: v.Source.Ref.Name, UID: "next"}}
	}
	for name, tc := range map[string]struct {
		s      plan.Snapshot
		stalls bool
	}{
		"no ordinal is in flight": {inPlaceSnapshot(2), true},
		"one still runs":          {replacing(inPlaceSnapshot(2), 1, func(*inplace.Handoff, *plan.OrdinalVolume) {}), true},
		"one is down":             {replacing(inPlaceSnapshot(2), 1, deleted), false},
		"one starts":              {replacing(inPlaceSnapshot(2), 1, starts), false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.s.Source.Set.Replicas = 4
			got := storagePlanner{viewOf(AsSlices(tc.s))}.scaled()
			if stalls := got != nil && got.Hold != nil && got.Hold.Stalled && got.Hold.Reason == api.ReasonForeignScale; stalls != tc.stalls || got != nil && !stalls {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestStorageEvictions: what the PodDisruptionBudget allows is judged by the rules of the eviction API. Of several it evicts
// nothing.
func TestStorageEvictions(t *testing.T) {
	one := plan.Budget{Name: "web", Observed: true, Evictions: 1, EvictsUnhealthy: true}
	changed := func(change func(*plan.Budget)) []plan.Budget {
		b := one
		change(&b)
		return []plan.Budget{b}
	}
	for name, tc := range map[string]struct {
		budgets []plan.Budget
		want    string
	}{
		"none":                    {nil, "all"},
		"it allows one":           {[]plan.Budget{one}, "1, unhealthy true, never false"},
		"it allows none":          {changed(func(b *plan.Budget) { b.Evictions = 0 }), "0, unhealthy true, never false"},
		"too few others":          {changed(func(b *plan.Budget) { b.Evictions, b.EvictsUnhealthy = 0, false }), "0, unhealthy false, never false"},
		"it was changed just now": {changed(func(b *plan.Budget) { b.Observed = false }), "0, unhealthy true, never false"},
		"two":                     {[]plan.Budget{one, {Name: "web2", Observed: true, Evictions: 1}}, "0, unhealthy false, never true"},
	} {
		t.Run(name, func(t *testing.T) {
			s := inPlaceSnapshot()
			s.Source.Budgets = tc.budgets
			got := "all"
			if may := (storagePlanner{viewOf(AsSlices(s))}).observed().Evictions; may != nil {
				got = fmt.Sprintf("%d, unhealthy %t, never %t", may.Allowed, may.Unhealthy, may.Never != nil)
				if may.Never == nil && !strings.Contains(may.Unlock, "unhealthyPodEvictionPolicy") || may.Never != nil && (may.Never.Reason != api.ReasonSeveralBudgets || may.Never.Remedy == "") {
					t.Errorf("%+v", may)
				}
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestStorageKeepsItsClass: the default class is recorded as the migration is accepted.
func TestStorageKeepsItsClass(t *testing.T) {
	s := inPlaceSnapshot()
	s.Record, s.Storage.Standard, s.Storage.Set.Manifest = plan.Record{Fence: s.Record.Fence}, "slow", s.Storage.Former
	d := Plan(AsSlices(s))
	if d.Record == nil || d.Record.Baseline == nil || d.Record.Baseline.DefaultStorageClass != "slow" {
		t.Errorf("got %+v, hold %+v", d.Record, d.Hold)
	}
}

// TestStorageReads: while an ordinal is down, a step that relies on its own objects waits for no exact list. Its eviction, the
// release of its volume, a return to its old volume, and what ends its handoff do.
func TestStorageReads(t *testing.T) {
	deleted := func(_ *inplace.Handoff, v *plan.OrdinalVolume) {
		v.Source.Claim.Terminating, v.Source.Claim.Held = true, true
	}
	turned := func(h *inplace.Handoff, v *plan.OrdinalVolume) { h.Turned = true; deleted(h, v) }
	runs := func(*inplace.Handoff, *plan.OrdinalVolume) {}
	does := func(verb plan.Verb, carries volumes.Verb) plan.Decision {
		return plan.Decision{Effect: &plan.Effect{Verb: verb, Volume: volumes.Action{Verb: carries}}}
	}
	sealed := plan.Decision{Record: new(replacing(inPlaceSnapshot(2), 1, deleted).Record)}
	ends := *sealed.Record
	ends.Handoff = nil
	for name, tc := range map[string]struct {
		change   func(*inplace.Handoff, *plan.OrdinalVolume)
		decision plan.Decision
		want     bool
	}{
		"a wait":                        {deleted, plan.Decision{Hold: &plan.Hold{}}, true},
		"a stall":                       {deleted, plan.Decision{Hold: &plan.Hold{Stalled: true}}, false},
		"a wait while it runs":          {runs, plan.Decision{Hold: &plan.Hold{}}, false},
		"the eviction":                  {deleted, does(plan.EvictPod, ""), false},
		"the release of its old volume": {deleted, does(plan.CarryVolume, volumes.Release), false},
		"a mover":                       {deleted, does(plan.CarryVolume, volumes.TellMover), true},
		"the reservation":               {deleted, does(plan.CarryVolume, volumes.Point), true},
		"a volume that is parked":       {deleted, does(plan.CarryVolume, volumes.Park), false},
		"its claim is free":             {deleted, does(plan.FreeClaim, ""), true},
		"on its old volume":             {turned, does(plan.FreeClaim, ""), false},
		"another set":                   {deleted, does(plan.RecreateSet, ""), false},
		"its seal":                      {deleted, sealed, true},
		"its end":                       {deleted, plan.Decision{Record: &ends}, false},
	} {
		p := storagePlanner{viewOf(AsSlices(replacing(inPlaceSnapshot(2), 1, tc.change)))}
		if got := p.reads(tc.decision); got.Recent != tc.want || !got.Live || !got.Wide {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if exact := (Reads{Live: true, Wide: true}); exact.Covers(Reads{Live: true, Wide: true, Recent: true}) == (Reads{Live: true, Wide: true, Recent: true}).Covers(exact) {
		t.Error("a recent list counts as an exact one")
	}
}

// rebound sets method Rebind for all volumes.
func rebound(s *plan.Snapshot) {
	s.Spec.Volumes[0].Method = ""
	for i := range s.Volumes {
		s.Volumes[i].Method, s.Volumes[i].Copy = api.MethodRebind, nil
	}
}

// operated returns a snapshot of a set under an operator that accepts changed claim templates after its pause.
func operated(paused, pauses bool, moved ...int32) plan.Snapshot {
	s := inPlaceSnapshot(moved...)
	s.Spec.PauseWriters = pauses
	s.Storage.Set.Owner = "RabbitmqCluster main"
	s.Storage.Set.Operator = inplace.Operator{Field: "spec.persistence", Paused: paused, Way: "pause it"}
	return s
}

// TestStorageUnderOperators: an operator that accepts changed claim templates is paused first, or refuses the change. The
// plan warns that its own field must be changed before it is resumed.
func TestStorageUnderOperators(t *testing.T) {
	for name, tc := range map[string]struct {
		paused, pauses bool
		refused        bool
	}{
		"it runs":                       {refused: true},
		"it is paused":                  {paused: true},
		"the migration pauses it":       {pauses: true},
		"it is paused, and so it would": {paused: true, pauses: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := operated(tc.paused, tc.pauses)
			s.Record = plan.Record{}
			findings := storageFindings(AsSlices(s))
			refused, warned := false, false
			for _, finding := range findings {
				refused = refused || !finding.Warning
				warned = warned || finding.Warning && strings.Contains(finding.Remedy, "spec.persistence")
			}
			if refused != tc.refused || !warned {
				t.Errorf("%+v", findings)
			}
		})
	}
}

// TestOperatorStaysPaused: an operator whose set got other claim templates stays paused until its user confirms that it has
// them, too. After a return it writes what the set has.
func TestOperatorStaysPaused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		waits  bool
	}{
		"at the end":          {func(*plan.Snapshot) {}, true},
		"it is confirmed":     {func(s *plan.Snapshot) { s.Spec.PauseWriters = false }, false},
		"nothing was changed": {func(s *plan.Snapshot) { s.Record.Storage.Former = nil }, false},
		"no operator":         {func(s *plan.Snapshot) { s.Storage.Set.Owner, s.Storage.Set.Operator = "", inplace.Operator{} }, false},
		"after a return":      {func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRollback }, false},
		"the set is deleted":  {func(s *plan.Snapshot) { s.Storage.Set.Found = false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := operated(true, true, 0, 1, 2)
			tc.change(&s)
			got := writerPlanner{viewOf(AsSlices(s))}.refills()
			if waits := got != nil && got.Hold.Reason == api.ReasonWriterWouldRefill && got.Hold.Stalled && strings.Contains(got.Hold.Remedy, "spec.writers.pause"); waits != tc.waits || got != nil && !waits {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestStorageIsNeverSplit: a set that is released while some of its ordinals have their new volumes is still one slice.
func TestStorageIsNeverSplit(t *testing.T) {
	s := inPlaceSnapshot(2)
	s.Record.Completed = api.ReasonRolledBack
	d := Plan(AsSlices(s))
	if d.Effect == nil || d.Effect.Verb != plan.ReleaseFence || d.Effect.After.Split {
		t.Errorf("%+v", d.Effect)
	}
}

// TestFilledUp: a pass that finds no room ends the passes, until a larger volume is asked for.
func TestFilledUp(t *testing.T) {
	const full = "the receiver pod r failed: the destination is full: enlarge its claim, and start again"
	for name, tc := range map[string]struct {
		trouble     string
		asked, size int64
		want        bool
	}{
		"all is well":              {"", 512, 512, false},
		"another trouble":          {"the receiver pod r failed: no route to host", 512, 512, false},
		"no room":                  {full, 512, 512, true},
		"no room, rounded up":      {full, 512, 520, true},
		"more is asked for by now": {full, 600, 512, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := claimOfTest(1, false)
			v.Copy.Attempt.Warm.Trouble, v.Copy.Asked.Size, v.Copy.Incoming.Volume.Size = tc.trouble, tc.asked, tc.size
			got := filledUp(volumes.Pair{Giver: v.Source, Taker: v.Destination, Copy: v.Copy})
			if (got != nil) != tc.want || got != nil && (got.Reason != volumes.ReasonCopySizeTooSmall || !got.Stalled || !strings.Contains(got.Message, strconv.FormatInt(tc.size, 10))) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestStorageRollbackStays: after an automatic rollback in place, mode Run starts the change again only after a pause, as
// that of a move does.
func TestStorageRollbackStays(t *testing.T) {
	for name, tc := range map[string]struct {
		rolledBack *api.AutomaticRollback
		mode       api.Mode
		completed  string
		want       string
	}{
		"a tool writes Run again": {&api.AutomaticRollback{By: "gate quorum"}, api.ModeRun, api.ReasonRolledBack, api.ReasonRollbackReverted},
		"a user rolled it back":   {nil, api.ModeRun, api.ReasonRolledBack, ""},
		"back after the end":      {nil, api.ModeRollback, api.ReasonMoved, api.ReasonAlreadyCompleted},
	} {
		s := inPlaceSnapshot()
		s.Record.AutomaticRollback, s.Spec.Mode = tc.rolledBack, tc.mode
		d, got := wholePlanner{viewOf(s)}.concluded(tc.completed, "it runs", "create another"), ""
		if d.Hold != nil {
			got = d.Hold.Reason
		}
		if got != tc.want || (d.Record != nil) != (tc.want == "") {
			t.Errorf("%s: %+v, %+v", name, d, d.Hold)
		}
	}
}

// TestStorageIsProvenBeforeTheStart: no proof is made after the start in place. copy.verify may change after acceptance, and
// Later then counts as Full.
func TestStorageIsProvenBeforeTheStart(t *testing.T) {
	for asked, want := range map[api.CopyVerify]api.CopyVerify{
		"": api.CopyVerifyFull, api.CopyVerifyLater: api.CopyVerifyFull, api.CopyVerifyFull: api.CopyVerifyFull, api.CopyVerifyChanged: api.CopyVerifyChanged,
	} {
		s := replacing(inPlaceSnapshot(), 2, func(_ *inplace.Handoff, v *plan.OrdinalVolume) {
			v.Source.Claim.Terminating, v.Copy.Asked.Verify = true, asked
		})
		p := storagePlanner{viewOf(AsSlices(s))}
		in := p.observed()
		if got := p.pairOf(p.facing(in.Record.Handoff), in, s.Volumes[2]).Copy.Asked.Verify; got != want {
			t.Errorf("%q counts as %q, want %q", asked, got, want)
		}
	}
}

// TestStorageSetIsOrphaned: the set is deleted in the judged version, and its pods and claims stay.
func TestStorageSetIsOrphaned(t *testing.T) {
	s := inPlaceSnapshot()
	s.Storage.Set.Manifest = s.Storage.Former
	record := inplace.Record{Former: s.Storage.Former, Replace: &inplace.Replace{UID: "set", Next: s.Storage.Wanted}}
	s.Record.Storage = record.Status()
	d := Plan(AsSlices(s))
	if e := d.Effect; e == nil || e.Verb != plan.OrphanSet || e.Propagation != metav1.DeletePropagationOrphan || e.UID != "set" || e.ResourceVersion != "7" {
		t.Errorf("got %+v, effect %+v, hold %+v", d, d.Effect, d.Hold)
	}
}

// TestStoragePolicyIsRead: only a volume whose reclaim policy is Retain counts as retained.
func TestStoragePolicyIsRead(t *testing.T) {
	for policy, want := range map[corev1.PersistentVolumeReclaimPolicy]bool{
		corev1.PersistentVolumeReclaimRetain: true, corev1.PersistentVolumeReclaimDelete: false, corev1.PersistentVolumeReclaimRecycle: false,
	} {
		s := inPlaceSnapshot()
		s.Volumes[2].Source.Volume.Policy = policy
		if got := (storagePlanner{viewOf(AsSlices(s))}).observed().Ordinals[2].Slots[0].Old.Retain; got != want {
			t.Errorf("%s: %t", policy, got)
		}
	}
}

// TestStorageStopAsksTheGates: the first write of a stop is not made while a gate holds, and neither is the second.
func TestStorageStopAsksTheGates(t *testing.T) {
	s := replacing(inPlaceSnapshot(), 2, func(*inplace.Handoff, *plan.OrdinalVolume) {})
	s.Source.Pods[0].Ready = false
	p := storagePlanner{viewOf(AsSlices(s))}
	for verb, want := range map[plan.Verb]bool{plan.HoldClaim: true, plan.EndClaim: true, plan.EvictPod: true, plan.CarryVolume: false, plan.FreeClaim: false} {
		if got := p.stops(verb); got != want {
			t.Errorf("%s stops: %t", verb, got)
		}
	}
	if d := p.beforeStop(p.observed()); d == nil || d.Hold == nil || d.Hold.Reason != api.ReasonReplicaUnavailable {
		t.Errorf("got %+v", d)
	}
}
