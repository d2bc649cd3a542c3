package copy

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// based returns a pair whose claim allows one pod only, and for which a warm pass is about to read a snapshot
// of it.
func based(t *testing.T, is func(volumes.Base) bool) volumes.Pair {
	t.Helper()
	return until(t, func(w *world) bool {
		w.alone = true
		return is(w.Pair().Copy.Base)
	}).Pair()
}

// saidOf returns a verdict in a few words.
func saidOf(v volumes.Verdict) string {
	switch {
	case v.Hold != nil:
		return "blocked: " + v.Hold.Reason
	case v.Attempt != nil && v.Attempt.Warm.Refused != "":
		return "refused: " + v.Attempt.Warm.Refused
	case v.Attempt != nil && v.Attempt.Warm.By != "":
		return "by " + string(v.Attempt.Warm.By) + ": " + v.Attempt.Warm.Why
	case v.Action != nil:
		return string(v.Action.Verb)
	case v.Waits != "":
		return "waits until " + v.Waits
	}
	return "done"
}

// TestWarmChoosesSnapshot: if no second pod can mount the claim, a snapshot is read, if one can be taken and
// will be deleted. A user who requested another way gets that, or the reason why not.
func TestWarmChoosesSnapshot(t *testing.T) {
	w := newWorld()
	w.alone = true
	pair := w.Pair()
	pair.Copy.Attempt.Number, pair.Copy.Attempt.Begun = 1, pair.Fence
	type change = func(*volumes.Pair, *volumes.Copying)
	asked := func(mode api.CopyWarmMode) change {
		return func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = mode }
	}
	both := func(all ...change) change {
		return func(p *volumes.Pair, c *volumes.Copying) {
			for _, each := range all {
				each(p, c)
			}
		}
	}
	keeps := func(_ *volumes.Pair, c *volumes.Copying) { c.Snapshot.Giver.Keeps = "they would stay" }
	shared := func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Claim.OncePod = false }
	for name, tc := range map[string]struct {
		change change
		want   string
	}{
		"M-090: for one pod alone":   {asked(""), "by Snapshot: its access mode is ReadWriteOncePod"},
		"for many":                   {shared, "CreateIncoming"},
		"the node has refused":       {both(shared, func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Warm.Refused = "the driver says no" }), "by Snapshot: the driver says no"},
		"wanted":                     {both(shared, asked(api.CopyWarmSnapshot)), "by Snapshot: copy.warm is Snapshot"},
		"mount is wanted":            {asked(api.CopyWarmMount), "CreateIncoming"},
		"none is wanted":             {asked(api.CopyWarmNone), "done"},
		"it would stay":              {keeps, "refused: its access mode is ReadWriteOncePod, and no snapshot can be read: they would stay"},
		"wanted, and would stay":     {both(keeps, asked(api.CopyWarmSnapshot)), "blocked: CopyNotWarm"},
		"of no driver":               {func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.Handle = `{"hostPath":{}}` }, "refused: its access mode is ReadWriteOncePod, and no snapshot can be read: volume pv has no CSI driver"},
		"not served":                 {func(_ *volumes.Pair, c *volumes.Copying) { c.Snapshot.Giver.Served = false }, "refused: its access mode is ReadWriteOncePod, and no snapshot can be read: cluster here has no API snapshot.storage.k8s.io/v1"},
		"nobody asked":               {func(_ *volumes.Pair, c *volumes.Copying) { c.Snapshot.Giver.Asked = false }, "refused: its access mode is ReadWriteOncePod, and no snapshot can be read: support for snapshots has not been checked"},
		"not answered":               {func(_ *volumes.Pair, c *volumes.Copying) { c.Snapshot.Giver.Trouble = "forbidden" }, "refused: its access mode is ReadWriteOncePod, and no snapshot can be read: cluster here: forbidden"},
		"no class":                   {func(_ *volumes.Pair, c *volumes.Copying) { c.Snapshot.Giver.Class, c.Snapshot.Giver.Lacks = "", "none" }, "refused: its access mode is ReadWriteOncePod, and no snapshot can be read: none"},
		"refused before, and it has": {func(_ *volumes.Pair, c *volumes.Copying) { c.Attempt.Warm.Refused = "x" }, "by Snapshot: x"},
		"it was refused as well": {func(_ *volumes.Pair, c *volumes.Copying) {
			c.Attempt.Warm = api.CopyWarm{By: api.CopyWarmSnapshot, Refused: "it takes too long"}
		}, "done"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := saidOf(ahead(pair, tc.change)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestWarmReadsSnapshot: a snapshot is taken while the ordinal runs and restored beside its claim, and the warm
// sender mounts the restored claim, on any node. Both are deleted before another pass, and before the stop.
func TestWarmReadsSnapshot(t *testing.T) {
	taken := based(t, func(b volumes.Base) bool { return b.Snapshot.Found && !b.Snapshot.Ready })
	made := based(t, func(b volumes.Base) bool { return b.Claim.Found })
	name := BaseRef(taken.Giver.Ref, owner, taken.Copy.Attempt.Number).Name
	for what, tc := range map[string]struct {
		pair   volumes.Pair
		change func(*volumes.Pair, *volumes.Copying)
		want   string
	}{
		"taken":          {taken, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Snapshot = volumes.Snapshot{} }, "TakeBase"},
		"is being taken": {taken, func(*volumes.Pair, *volumes.Copying) {}, "waits until VolumeSnapshot east/NAME, which the warm pass reads, is ready; the ordinal runs"},
		"is in trouble":  {taken, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Snapshot.Trouble = "quota" }, "waits until VolumeSnapshot east/NAME, which the warm pass reads, is ready: quota; the ordinal runs"},
		"takes too long": {taken, func(_ *volumes.Pair, c *volumes.Copying) { c.Now = c.Now.Add(2 * restored) }, "refused: VolumeSnapshot east/NAME was not taken and restored within 15m0s"},
		"cannot be asked for": {taken, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Base.Snapshot, c.Now = volumes.Snapshot{}, c.Now.Add(2*restored)
		}, "refused: VolumeSnapshot east/NAME was not taken and restored within 15m0s"},
		"may take long": {taken, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Now, c.Asked.Warm = c.Now.Add(2*restored), api.CopyWarmSnapshot
		}, "waits until VolumeSnapshot east/NAME, which the warm pass reads, is ready; the ordinal runs"},
		"somebody's":       {taken, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Snapshot.Ours = false }, "blocked: ForeignSnapshot"},
		"somebody's claim": {made, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Claim.Ours = false }, "blocked: ForeignSnapshot"},
		"is ready":         {taken, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Snapshot.Ready = true }, "RestoreBase"},
		"was deleted":      {taken, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Snapshot.Terminating = true }, "waits until VolumeSnapshot east/NAME, which a warm pass has read, is deleted"},
		"H7: is kept": {taken, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Base.Snapshot.Terminating, c.Base.Snapshot.Keeps = true, []string{"backup.example.com/copy"}
		}, "waits until VolumeSnapshot east/NAME, which a warm pass has read, is deleted: the finalizers backup.example.com/copy keep it"},
		"restored":         {made, func(*volumes.Pair, *volumes.Copying) {}, "CreateMover"},
		"of what has gone": {made, func(_ *volumes.Pair, c *volumes.Copying) { c.Base.Snapshot = volumes.Snapshot{} }, "DropBase"},
		"no class any more": {taken, func(_ *volumes.Pair, c *volumes.Copying) {
			c.Base.Snapshot, c.Snapshot.Giver.Served = volumes.Snapshot{}, false
		}, "refused: cluster here has no API snapshot.storage.k8s.io/v1"},
		"none is wanted then": {made, func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmNone }, "DeleteMover"},
	} {
		t.Run(what, func(t *testing.T) {
			if got := strings.ReplaceAll(saidOf(ahead(tc.pair, tc.change)), name, "NAME"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	sender := ahead(made, func(*volumes.Pair, *volumes.Copying) {}).Action
	if sender.Ref.Name != name || sender.Copy.Role != volumes.RoleWarm || sender.Copy.Node != "" || !sender.AtGiver {
		t.Errorf("the sender is %+v", sender)
	}
	if got := saidOf(Copy{}.Ahead(made, volumes.Withdrawn)); got != "DeleteMover" && got != "DropBase" {
		t.Errorf("in a pause: %s", got)
	}
}

// TestWarmCountsFromSnapshot: changes since the request of a snapshot are left to the next pass, not only
// changes since it was restored and read.
func TestWarmCountsFromSnapshot(t *testing.T) {
	w := until(t, func(w *world) bool {
		w.alone = true
		return w.Record.Warm.Passes > 0
	})
	warm := w.Record.Warm
	if warm.By != api.CopyWarmSnapshot || warm.Why == "" || warm.Taken.IsZero() || !warm.Taken.Before(&warm.Ended) {
		t.Errorf("recorded: %+v", warm)
	}
	warm.Ended.Time, warm.Seconds = warm.Taken.Add(time.Hour), 1
	if got := began(warm); !got.Equal(warm.Taken.Time) {
		t.Errorf("it begins at %s", got)
	}
}
