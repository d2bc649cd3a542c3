package copy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestVerify: how much is read at the end of a pass. Nothing is trusted unless the user requested it, and never
// from a restored snapshot or once the sides have differed.
func TestVerify(t *testing.T) {
	asked := func(v *view) { v.Asked.Verify = api.CopyVerifyChanged }
	for name, tc := range map[string]struct {
		change     []func(*view)
		last, warm api.CopyVerify
	}{
		"nobody has said":           {nil, api.CopyVerifyFull, ""},
		"Full":                      {[]func(*view){func(v *view) { v.Asked.Verify = api.CopyVerifyFull }}, api.CopyVerifyFull, ""},
		"Changed":                   {[]func(*view){asked}, api.CopyVerifyChanged, api.CopyVerifyChanged},
		"both sides were different": {[]func(*view){asked, func(v *view) { v.Attempt.Passes = 1 }}, api.CopyVerifyFull, api.CopyVerifyChanged},
		"by a snapshot":             {[]func(*view){asked, func(v *view) { v.Attempt.Warm.By = api.CopyWarmSnapshot }}, api.CopyVerifyFull, ""},
	} {
		var v view
		for _, change := range tc.change {
			change(&v)
		}
		last := v.verify()
		v.warming = true
		if warm := v.verify(); last != tc.last || warm != tc.warm {
			t.Errorf("%s: the last pass reads %q, a warm one %q", name, last, warm)
		}
	}
}

// TestProjectChanged: content that need not be read again is left out of the projection, only if the user
// requested that.
func TestProjectChanged(t *testing.T) {
	done := api.CopyWarm{Passes: 2, Bytes: 1000 * gib, Known: 990 * gib, Young: 2 * gib, ReadRate: gib, Seconds: 1, Ended: metav1.NewTime(time.Unix(1000, 0))}
	of := func(verify api.CopyVerify, change func(*view)) projection {
		v := view{Handing: volumes.Handing{Copying: volumes.Copying{Now: done.Ended.Time}}}
		v.Attempt.Warm, v.Asked.Verify = done, verify
		change(&v)
		return v.project()
	}
	same := func(*view) {}
	if p := of(api.CopyVerifyFull, same); p.proof != 1000*time.Second || p.trusted != 0 || strings.Contains(p.String(), "Changed") {
		t.Errorf("in full: %s", p)
	}
	p := of(api.CopyVerifyChanged, same)
	if p.proof != 10*time.Second || !strings.Contains(p.String(), "10s for reading 10Gi again") || !strings.Contains(p.String(), "990Gi are not read again, since copy.verify is Changed") {
		t.Errorf("got %s", p)
	}
	if p := of(api.CopyVerifyChanged, func(v *view) { v.Attempt.Warm.By = api.CopyWarmSnapshot }); p.proof != 1000*time.Second {
		t.Errorf("by a snapshot: %s", p)
	}
	if !p.settles(19*time.Second) || p.settles(17*time.Second) || p.settles(21*time.Second) {
		t.Errorf("another pass leaves 8 s of reading, of %s", p)
	}
	if p := of(api.CopyVerifyChanged, func(v *view) { v.Attempt.Warm.Passes = settling }); p.settles(19 * time.Second) {
		t.Error("what is young after so many passes is what it writes all the time")
	}
	if p := of(api.CopyVerifyChanged, func(v *view) { v.Attempt.Warm.Known = 2000 * gib }); p.proof != 0 || p.bytes != 0 {
		t.Errorf("more is known than there is: %s", p)
	}
}

// TestSettling: another pass is made if the one before has written too late for its data to be trusted. It is
// not made at once, and nothing is reported to the user meanwhile.
func TestSettling(t *testing.T) {
	done := api.CopyWarm{Passes: 1, Bytes: 100 * gib, Young: 100 * gib, ReadRate: gib, Rate: 1 << 40, Seconds: 1}
	changed := func(since time.Duration) func(*volumes.Copying) {
		return func(c *volumes.Copying) { c.Now, c.Asked.Verify = c.Now.Add(since), api.CopyVerifyChanged }
	}
	if got := warmedAt(t, done, changed(10*time.Second)); got.Waits == "" || got.Hold != nil {
		t.Errorf("at once: %+v", got)
	}
	if got := warmedAt(t, done, changed(aging)); got.Action == nil || got.Action.Verb != volumes.CreateMover || got.Action.Copy.Verify != api.CopyVerifyChanged || got.Action.Copy.Copy == "" {
		t.Errorf("a while later: %+v", got)
	}
	done.Passes = settling
	if got := warmedAt(t, done, changed(aging)); got.Hold == nil || got.Hold.Reason != volumes.ReasonCopyOverBudget {
		t.Errorf("after %d passes: %+v", settling, got)
	}
}

// TestSealSaysHow: a seal records how much was read and how much was trusted.
func TestSealSaysHow(t *testing.T) {
	v := view{}
	v.Asked.Verify = api.CopyVerifyChanged
	v.Sender.Result = volumes.MoverResult{Root: "r", Read: 1, Trusted: 10, Verify: ""}
	v.Receiver.Result = volumes.MoverResult{Root: "r", Read: 2, Trusted: 20, Verify: api.CopyVerifyChanged}
	if seal := v.compared().Attempt.Seal; seal.Verify != api.CopyVerifyChanged || seal.Read != 3 || seal.Trusted != 30 {
		t.Errorf("%+v", seal)
	}
	v.Attempt.Warm = api.CopyWarm{Passes: 1, Known: 5, Young: 5}
	if warm := v.unsealed().Attempt.Warm; warm.Known != 0 || warm.Young != 0 {
		t.Errorf("what the last pass has removed counts: %+v", warm)
	}
}

// TestFullIsAskedMeanwhile: a last pass that has trusted earlier reads does not count once a full read is
// requested.
func TestFullIsAskedMeanwhile(t *testing.T) {
	got := transfer(untilIn(t, attached, introduced).Pair(), func(c *volumes.Copying) {
		end(volumes.MoverResult{Done: true, Root: "r"}, volumes.MoverResult{Done: true, Root: "r", Verify: api.CopyVerifyChanged, Trusted: 1 << 40})(c)
	})
	if got.Attempt != nil || got.Action == nil || got.Action.Verb != volumes.DeleteMover {
		t.Errorf("a seal by Changed counts: %+v", got)
	}
}

// TestTrustsIsSaid: a plan states what is trusted, and when everything may be read.
func TestTrustsIsSaid(t *testing.T) {
	of := func(change func(*volumes.Pair, *volumes.Copying)) *volumes.Reason {
		pair := newWorld().Pair()
		seen := *pair.Copy
		pair.Copy = &seen
		seen.Asked.Needed, seen.Asked.Verify = 100*gib, api.CopyVerifyChanged
		pair.Giver.Volume.FileSystem = "ext4"
		change(&pair, &seen)
		for _, found := range warned(pair) {
			return &found
		}
		return nil
	}
	got := of(func(*volumes.Pair, *volumes.Copying) {})
	if got == nil || got.Reason != volumes.ReasonCopyTrusts || !strings.Contains(got.Message, "Disk damage") || !strings.Contains(got.Remedy, "verify=full") {
		t.Errorf("got %+v", got)
	}
	for want, change := range map[string]func(*volumes.Pair, *volumes.Copying){
		"does not name its file system": func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.FileSystem = "" },
		"is nfs, and only":              func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.FileSystem = "nfs" },
		"is block, and only":            func(p *volumes.Pair, _ *volumes.Copying) { p.Giver.Volume.FileSystem = "block" },
		"volume new is fuse": func(_ *volumes.Pair, c *volumes.Copying) {
			c.Incoming.Volume = volumes.Volume{Found: true, Name: "new", FileSystem: "fuse"}
		},
		"copy.warm is None":             func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmNone },
		"do not read the volume itself": func(_ *volumes.Pair, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmSnapshot },
	} {
		if got := of(change); got == nil || got.Reason != volumes.ReasonCopyReadsAll || !strings.Contains(got.Message, want) {
			t.Errorf("%s: %+v", want, got)
		}
	}
}
