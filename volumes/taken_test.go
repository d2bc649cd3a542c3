package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestTaken: an ordinal that was handed over is on its former disk, or the problem states why that is not
// known, and the remedy.
func TestTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		shared, made bool
		change       func(at, from *Holding)
		// want is part of the message. remedy is part of the remedy, and spared is not.
		want           string
		remedy, spared string
	}{
		"as it was carried over":                         {made: true},
		"in one cluster":                                 {shared: true, made: true, change: func(at, from *Holding) { at.Volume.Ours, from.Volume = false, Volume{} }},
		"what was left is gone, and it was carried over": {made: true, change: func(_, from *Holding) { from.Volume = Volume{} }},
		"what was left is gone, and it began here":       {change: func(at, from *Holding) { at.Volume.Ours, from.Volume = false, Volume{} }},
		"the claim is gone": {
			change: func(at, _ *Holding) { at.Claim = Claim{} },
			want:   "does not exist any more", remedy: "provide a claim", spared: "inspect the data of the claim",
		},
		"the claim is on another volume": {
			change: func(at, _ *Holding) { at.Claim.Volume = "another" },
			want:   `is on volume "another" now`, remedy: "inspect the data of the claim, and keep it: kubectl describe pvc -n west data-web-0; in its place provide a claim",
		},
		"its volume is gone": {
			change: func(at, _ *Holding) { at.Volume.Found = false },
			want:   `is on volume "pv" now`, remedy: "inspect the data of the claim", spared: "provide a claim",
		},
		"not bound to its volume": {
			change: func(at, _ *Holding) { at.Claim.Phase = corev1.ClaimLost },
			want:   "is Lost and not bound", remedy: "provide a claim", spared: "inspect the data of the claim",
		},
		"its volume is reserved for another claim": {
			change: func(at, _ *Holding) { at.Volume.ClaimRef.Name = "other" },
			want:   "is Bound and not bound", remedy: "inspect the data of the claim", spared: "provide a claim",
		},
		"on another disk": {
			change: func(at, _ *Holding) { at.Volume.Handle = "another disk" },
			want:   "is on another disk: another disk",
		},
		"on a volume that was not carried over": {
			made:   true,
			change: func(at, from *Holding) { at.Volume.Ours, from.Volume = false, Volume{} },
			want:   "is on a volume that was not carried over",
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, from := held("west", corev1.PersistentVolumeReclaimRetain), parked("east")
			at.Volume.Ours = true
			if tc.change != nil {
				tc.change(&at, &from)
			}
			got := refusal(Rebind{}, Pair{Shared: tc.shared, Carried: tc.made, Giver: from, Taker: at}, AfterArrival)
			if tc.want == "" {
				if got != nil {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got == nil || got.Reason != ReasonAnotherDisk || !strings.Contains(got.Message, tc.want) {
				t.Fatalf("got %+v, want %s", got, tc.want)
			}
			if !strings.Contains(got.Remedy, tc.remedy) || tc.spared != "" && strings.Contains(got.Remedy, tc.spared) {
				t.Errorf("the remedy is %q, and must have %q and not %q", got.Remedy, tc.remedy, tc.spared)
			}
			if left := strings.Contains(got.Message, "is behind volume"); left != from.Volume.Found {
				t.Errorf("the volume that was left behind: %q", got.Message)
			}
		})
	}
}
