package snapshot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// before returns a pair for which an action of a verb is due, without failures.
func before(t *testing.T, verb volumes.Verb, waits bool) volumes.Pair {
	t.Helper()
	w := newWorld()
	w.waits = waits
	for range 60 {
		w.Tick()
		if w.Runs == volumestest.Nowhere {
			if action := (Snapshot{}).Transfer(w.Pair()).Action; action != nil && action.Verb == verb {
				return w.Pair()
			}
		}
		if write := w.Decide(t); write != nil {
			w.Arrive(t, *write)
		}
	}
	t.Fatalf("%s is never due", verb)
	return volumes.Pair{}
}

// said returns a verdict in a few words.
func said(v volumes.Verdict) string {
	switch {
	case v.Hold != nil:
		return "blocked: " + v.Hold.Reason
	case v.Attempt != nil && v.Attempt.Seal.Root != "":
		return "sealed"
	case v.Attempt != nil && v.Attempt.Snapshot.Handle != "":
		return "recorded"
	case v.Attempt != nil:
		return "begins"
	case v.Action != nil:
		return string(v.Action.Verb)
	case v.Waits != "":
		return "waits until " + v.Waits
	}
	return "done"
}

// TestTake: a snapshot counts only if it was requested after the present release, with nothing attached, is of
// the giver's disk, has a handle and a size, and survives its content.
func TestTake(t *testing.T) {
	for name, tc := range map[string]struct {
		due    volumes.Verb
		change func(*volumes.Pair)
		want   string
	}{
		"released":                {volumes.CreateSnapshot, func(*volumes.Pair) {}, "CreateSnapshot"},
		"still attached":          {volumes.CreateSnapshot, attached, "waits until volume pv is not attached to node n any more"},
		"asked for by another":    {volumes.CreateSnapshot, func(p *volumes.Pair) { p.Fence = "migration.7"; p.Giver.Volume.Fence = p.Fence }, "begins"},
		"no class":                {volumes.CreateSnapshot, func(p *volumes.Pair) { p.Copy.Snapshot.Giver.Class = "" }, "blocked: SnapshotClassMissing"},
		"not served there":        {volumes.CreateSnapshot, func(p *volumes.Pair) { p.Copy.Snapshot.Taker.Served = false }, "blocked: SnapshotsNotServed"},
		"retained next":           {volumes.RetainContent, func(*volumes.Pair) {}, "RetainContent"},
		"M-044 not ready":         {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Ready = false }, "waits until VolumeSnapshot east/NAME is ready, with a handle and a size"},
		"ready without a handle":  {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Content.Handle = "" }, "waits until VolumeSnapshot east/NAME is ready, with a handle and a size"},
		"ready without a size":    {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Content.Size = nil }, "waits until VolumeSnapshot east/NAME is ready, with a handle and a size"},
		"ready without content":   {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Content.Found = false }, "waits until VolumeSnapshot east/NAME is ready, with a handle and a size"},
		"in trouble":              {volumes.RetainContent, inTrouble, "waits until VolumeSnapshot east/NAME is ready, with a handle and a size: quota"},
		"of an earlier release":   {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Released = "migration.0" }, "DeleteSnapshot"},
		"while attached":          {volumes.RetainContent, attached, "DeleteSnapshot"},
		"of another claim":        {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Claim = "data-web-0" }, "DeleteSnapshot"},
		"being deleted":           {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Terminating = true }, "begins"},
		"made by somebody":        {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Ours = false }, "blocked: ForeignSnapshot"},
		"content of another disk": {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Content.Volume = "other" }, "blocked: ForeignSnapshot"},
		"content of another":      {volumes.RetainContent, func(p *volumes.Pair) { p.Copy.Snapshot.Taken.Content.For.UID = "other" }, "blocked: ForeignSnapshot"},
		"noted by another": {volumes.RetainContent, func(p *volumes.Pair) {
			c := &p.Copy.Snapshot.Taken.Content
			c.Retain, c.Note = true, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "another"}
		}, "RetainContent"},
		"read back": {volumes.RetainContent, func(p *volumes.Pair) {
			c := &p.Copy.Snapshot.Taken.Content
			c.Retain, c.Note = true, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: owner}
		}, "recorded"},
		"recorded, and given back since": {volumes.CreateContent, func(p *volumes.Pair) { p.Giver.Volume.Released = "migration.2" }, "LoosenContent"},
		"recorded of another disk":       {volumes.CreateContent, func(p *volumes.Pair) { p.Copy.Attempt.Snapshot.From = "other" }, "LoosenContent"},
	} {
		t.Run(name, func(t *testing.T) {
			pair := before(t, tc.due, false)
			at := view{volumes.HandingOf(pair)}.takenRef().Name
			tc.change(&pair)
			if diff := cmp.Diff(tc.want, strings.ReplaceAll(said((Snapshot{}).Transfer(pair)), at, "NAME")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func attached(p *volumes.Pair) {
	p.Giver.Volume.Attachments = []volumes.Attachment{{Name: "a", Node: "n"}}
}

func inTrouble(p *volumes.Pair) {
	p.Copy.Snapshot.Taken.Ready, p.Copy.Snapshot.Taken.Content.Trouble = false, "quota"
}

// TestRestore: the taker's volume is restored from that snapshot, by the same driver, under names that nothing
// was bound to before.
func TestRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		due    volumes.Verb
		change func(*volumes.Pair)
		want   string
	}{
		"told":                         {volumes.CreateContent, func(*volumes.Pair) {}, "CreateContent"},
		"told by another":              {volumes.CreateContent, anotherFence, "begins"},
		"content of somebody":          {volumes.CreateImport, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.Ours = false }, "blocked: ForeignSnapshot"},
		"content of another snapshot":  {volumes.CreateImport, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.Source = "x" }, "DeleteContent"},
		"content that does not retain": {volumes.CreateImport, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.Retain = false }, "DeleteContent"},
		"content that goes":            {volumes.CreateImport, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.Terminating = true }, "begins anew"},
		"content that was bound":       {volumes.CreateImport, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.For.UID = "gone" }, "DeleteContent"},
		"import by another":            {volumes.CreateImport, anotherFence, "DeleteContent"},
		"filled":                       {volumes.CreateIncoming, func(*volumes.Pair) {}, "CreateIncoming"},
		"import of somebody":           {volumes.CreateIncoming, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Ours = false }, "blocked: ForeignSnapshot"},
		"import that goes":             {volumes.CreateIncoming, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Terminating = true }, "DeleteContent"},
		"bound to another":             {volumes.CreateIncoming, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.For.UID = "x" }, "DeleteSnapshot"},
		"ready without a handle":       {volumes.CreateIncoming, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Content.Handle = "" }, "waits until the imported VolumeSnapshot west/NAME is ready"},
		"not ready":                    {volumes.CreateIncoming, func(p *volumes.Pair) { p.Copy.Snapshot.Import.Ready = false }, "waits until the imported VolumeSnapshot west/NAME is ready"},
		"placed":                       {volumes.CreateMover, func(*volumes.Pair) {}, "CreateMover"},
		"placed at once":               {volumes.CreateMover, func(p *volumes.Pair) { p.Copy.WaitsForPod = false }, "waits until claim west/CLAIM is bound to a volume restored from VolumeSnapshot NAME (its events show what delays the driver: kubectl describe pvc -n west CLAIM)"},
		"placed, and waits":            {volumes.CreateMover, func(p *volumes.Pair) { p.Copy.Placeholder.Found = true }, "waits until claim west/CLAIM is bound to a volume restored from VolumeSnapshot NAME (its events show what delays the driver: kubectl describe pvc -n west CLAIM)"},
		"no data source":               {volumes.CreateMover, func(p *volumes.Pair) { p.Copy.Snapshot.Source = "" }, "blocked: NotRestored"},
		"claim of somebody":            {volumes.CreateMover, func(p *volumes.Pair) { p.Copy.Incoming.Claim.Ours = false }, "blocked: ForeignClaim"},
		"of another driver":            {volumes.DeleteMover, unsealed("other/pvc"), "blocked: NotRestored"},
		"of no driver":                 {volumes.DeleteMover, unsealed(`{"hostPath":{"path":"/x/y"}}`), "blocked: NotRestored"},
		"the very disk":                {volumes.DeleteMover, unsealed("d/pv"), "blocked: NotRestored"},
		"of the driver, there before": {volumes.DeleteMover, func(p *volumes.Pair) {
			unsealed("d/pvc")(p)
			p.Copy.Incoming.Volume.Chosen = true
		}, "blocked: NotRestored"},
		"of the driver":    {volumes.DeleteMover, unsealed("d/pvc"), "sealed"},
		"placeholder goes": {volumes.DeleteMover, func(*volumes.Pair) {}, "DeleteMover"},
		"still attached": {volumes.DeleteMover, func(p *volumes.Pair) {
			p.Copy.Placeholder.Found = false
			p.Copy.Incoming.Volume.Attachments = []volumes.Attachment{{Node: "n"}}
		}, "waits until volume VOLUME is not attached to node n any more"},
		"parked, and the seal is of before": {volumes.TakeOver, func(p *volumes.Pair) { p.Copy.Attempt.Seal.Released = "x" }, "DeleteSnapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			pair := before(t, tc.due, tc.due == volumes.CreateMover || tc.due == volumes.DeleteMover)
			v := view{volumes.HandingOf(pair)}
			tc.change(&pair)
			verdict := (Snapshot{}).Transfer(pair)
			got := said(verdict)
			if verdict.Attempt != nil && got == "recorded" {
				got = "begins"
				if verdict.Attempt.Number == pair.Copy.Attempt.Number || verdict.Attempt.Begun != pair.Fence {
					t.Errorf("it goes on as %+v", verdict.Attempt)
				}
				if tc.want == "begins anew" {
					got = tc.want
				}
			}
			got = strings.NewReplacer(v.importRef().Name, "NAME", v.Incoming.Ref.Name, "CLAIM", "volume "+v.Incoming.Volume.Name+" is", "volume VOLUME is").Replace(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// anotherFence continues as a new process, after one whose last write has no known result.
func anotherFence(p *volumes.Pair) { p.Fence, p.Giver.Volume.Fence = "migration.7", "migration.7" }

// unsealed sets a volume of the incoming claim that is not sealed yet.
func unsealed(handle string) func(*volumes.Pair) {
	return func(p *volumes.Pair) {
		p.Copy.Attempt.Seal.Root = ""
		p.Copy.Incoming.Volume.Handle = handle
	}
}

// TestSizeOfRestored: the new volume has room for the snapshot, and is no smaller than the former one.
func TestSizeOfRestored(t *testing.T) {
	for name, tc := range map[string]struct{ asked, needed, snapshot, want int64 }{
		"M-044 nothing is asked for":       {0, 10, 0, 10},
		"M-044 the snapshot needs more":    {0, 10, 12, 12},
		"M-044 more is asked for":          {20, 10, 12, 20},
		"M-044 less than the snapshot has": {11, 10, 12, 12},
	} {
		t.Run(name, func(t *testing.T) {
			pair := before(t, volumes.CreateIncoming, false)
			pair.Copy.Asked.Size, pair.Copy.Asked.Needed, pair.Copy.Attempt.Snapshot.Size = tc.asked, tc.needed, tc.snapshot
			if got := (Snapshot{}).Transfer(pair).Action.Copy.Size; got != tc.want {
				t.Errorf("%d bytes", got)
			}
		})
	}
}

// TestUnable: reasons why a claim cannot move by a snapshot are reported before anything is stopped.
func TestUnable(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*volumes.Pair)
		reason string
		says   []string
	}{
		"able":             {func(*volumes.Pair) {}, "", nil},
		"no CSI driver":    {func(p *volumes.Pair) { p.Giver.Volume.Handle = `{"nfs":{"path":"/a"}}` }, volumes.ReasonSnapshotUnsupported, []string{"pv", "CSI"}},
		"not asked":        {func(p *volumes.Pair) { p.Copy = nil }, volumes.ReasonSnapshotsNotServed, []string{"unknown", "--volume data=snapshot"}},
		"no answer":        {func(p *volumes.Pair) { p.Copy.Snapshot.Giver.Trouble = "forbidden" }, volumes.ReasonSnapshotsNotServed, []string{"forbidden"}},
		"not served":       {func(p *volumes.Pair) { p.Copy.Snapshot.Giver.Served = false }, volumes.ReasonSnapshotsNotServed, []string{"cluster east", "external-snapshotter"}},
		"not served there": {func(p *volumes.Pair) { p.Copy.Snapshot.Taker.Served = false }, volumes.ReasonSnapshotsNotServed, []string{"cluster west"}},
		"no class": {
			func(p *volumes.Pair) { p.Copy.Snapshot.Giver.Class, p.Copy.Snapshot.Giver.Lacks = "", "none is of d" }, volumes.ReasonSnapshotClassMissing,
			[]string{"none is of d", "--volume data=snapshot,class=CLASS"},
		},
		"M-089: too small": {func(p *volumes.Pair) { p.Copy.Asked = volumes.CopyAsked{Size: 9, Needed: 10} }, volumes.ReasonCopySizeTooSmall, []string{"snapshot.size"}},
		"place taken":      {func(p *volumes.Pair) { p.Taker.Claim = volumes.Claim{Found: true, UID: "x"} }, volumes.ReasonForeignClaim, []string{"west/data-web-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			pair := newWorld().Pair()
			pair.Copy.Snapshot.Giver.Cluster, pair.Copy.Snapshot.Taker.Cluster = "east", "west"
			tc.change(&pair)
			problem, _ := (Snapshot{}).Check(pair, volumes.BeforeMove)
			if tc.reason == "" {
				if problem != nil || said((Snapshot{}).Prepare(pair)) != string(volumes.Secure) {
					t.Errorf("%+v, %s", problem, said((Snapshot{}).Prepare(pair)))
				}
				return
			}
			if problem == nil || problem.Reason != tc.reason {
				t.Fatalf("%+v", problem)
			}
			for _, part := range tc.says {
				if !strings.Contains(problem.Message+" "+problem.Remedy, part) {
					t.Errorf("%+v does not say %q", problem, part)
				}
			}
			if v := (Snapshot{}).Prepare(pair); name != "place taken" && (v.Hold == nil || v.Hold.Reason != tc.reason) {
				t.Errorf("it is prepared: %s", said(v))
			}
		})
	}
}

// TestRecovered: the side is lost for which a volume was restored, and the ordinal's own was parked. The ordinal returns to
// that one, and the snapshot is removed.
func TestRecovered(t *testing.T) {
	pair := before(t, volumes.Park, false)
	pair.Giver, pair.Taker = pair.Taker, pair.Giver
	pair.Giver, pair.Word.ReturnsToKept = volumes.Holding{Ref: pair.Giver.Ref}, true
	seen := *pair.Copy
	pair.Copy = &seen
	seen.Back, seen.Incoming.Claim, seen.Incoming.Volume = true, volumes.Claim{}, volumes.Volume{}
	pair.Taker.Volume.ClaimRef = volumes.Parked(pair.Taker.Ref)
	got := (Snapshot{}).Transfer(pair)
	if a := got.Action; a == nil || a.Verb != volumes.Point || a.AtGiver || !a.After.ClaimRef.Names(pair.Taker.Ref) || a.After.Released != "" {
		t.Fatalf("it returns by %+v", got)
	}
	pair.Taker.Volume = pair.Taker.Volume.In(got.Action.After)
	pair.Taker.Claim.Fence, pair.Taker.Claim.Phase = pair.Fence, corev1.ClaimBound
	seen.Outgoing.Claim = volumes.Claim{}
	if got := (Snapshot{}).Transfer(pair); got.Action == nil || got.Action.Verb != volumes.LoosenContent && got.Action.Verb != volumes.DeleteSnapshot {
		t.Errorf("then %+v", got)
	}
}
