package decide

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

func prePull(in *Input) { in.Spec.PrePull = true }

// lacking makes a pod lack the images of the update.
func lacking(pod *Pod) { pod.NewImages = true }

// pulls returns a change to a pod whose images have been pulled for the given time.
func pulls(ago time.Duration) func(*Pod) {
	return func(pod *Pod) { pod.NewImages, pod.Pull = true, &Pull{Since: noon.Add(-ago)} }
}

func pulled(pod *Pod) {
	pod.NewImages, pod.Pull = true, &Pull{Since: noon.Add(-time.Second), Ended: true}
}

// TestPrePull: the images of an update are pulled on the node of a serving pod before it is deleted, with a time limit.
func TestPrePull(t *testing.T) {
	inPlaceOf := func(in *Input) { in.Spec.Policy = api.InPlaceIfPossible }
	check(t, []row{
		{name: "U-08 off by default", in: slice(2, "a a").with(1, lacking), want: "Delete 1"},
		{name: "U-08 pulled first", in: slice(2, "a a", prePull).with(1, lacking), want: "PrePull 1", held: map[int32]string{0: HeldBudget, 1: HeldPrePull}},
		{name: "U-08 as many as the budget lets go", in: slice(3, "a a a", prePull, parallel, unavailable(2)).with(1, lacking).with(2, lacking), want: "PrePull 2, PrePull 1"},
		{name: "U-08 it waits", in: slice(2, "a a", prePull).with(1, pulls(time.Minute)), want: "", held: map[int32]string{0: HeldBudget, 1: HeldPrePull}},
		{name: "U-08 they are there", in: slice(2, "a a", prePull).with(1, pulled), want: "Delete 1"},
		{name: "U-08 not for longer than five minutes", in: slice(2, "a a", prePull).with(1, pulls(PullLimit)), want: "Delete 1"},
		{name: "U-08 nothing to pull", in: slice(2, "a a", prePull), want: "Delete 1"},
		{name: "U-08 one that does not serve loses nothing", in: slice(2, "a a-", prePull).with(1, lacking), want: "Delete 1"},
		{name: "U-08 in place it is the kubelet's", in: slice(2, "a a", prePull, inPlaceOf).with(1, possible).with(1, lacking), want: "BeginInPlace 1"},
		{name: "U-08 a migration waits for no image", in: slice(2, "a a", prePull, func(in *Input) { in.Spec.Migrating = true }).with(1, lacking), want: "Delete 1"},
		{name: "U-08 Recreate takes all down at once", in: slice(2, "a a", prePull, by(api.Recreate)).with(1, lacking), want: "Delete 1, Delete 0"},
		{name: "U-08 paused", in: slice(2, "a a", prePull, paused).with(1, lacking), want: ""},
		{name: "U-08 a scale-down", in: slice(1, "a a", prePull).with(1, lacking), want: "Delete 1"},
	})
}

// TestPrePullIsWaitedFor: the set is reconciled again at the time limit.
func TestPrePullIsWaitedFor(t *testing.T) {
	if wait := Decide(slice(2, "a a", prePull).with(1, pulls(time.Minute))).Wait; wait != PullLimit-time.Minute {
		t.Errorf("it looks again after %s", wait)
	}
}
