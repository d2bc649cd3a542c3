package judge

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Provisioned reports whether a volume was provisioned for the claim to which it is bound. Provisioners name a volume after
// the uid of its claim.
func Provisioned(pv VolumeState) bool {
	return pv.ClaimUID != "" && pv.Name == "pvc-"+string(pv.ClaimUID)
}

// Writer is a pod that has mounted volumes which it may write, in revisions of its API server. Born may be later than the
// true revision, and Died earlier. Died is 0 while the pod has them mounted.
type Writer struct {
	Name string
	UID  types.UID
	// Claims are the claims that it may write, and Volumes their volumes.
	Claims, Volumes []string
	Born, Died      uint64
}

// String describes the pod and the revisions of its life.
func (w *Writer) String() string {
	return fmt.Sprintf("%s (uid %s, revisions %d to %d)", w.Name, w.UID, w.Born, w.Died)
}

// Shared returns the volumes that both pods had mounted at one instant.
func (w Writer) Shared(o Writer) []string {
	if w.UID == o.UID || w.Born == 0 || o.Born == 0 || w.Died > 0 && w.Died <= o.Born || o.Died > 0 && o.Died <= w.Born {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.Volumes), func(volume string) bool { return !slices.Contains(o.Volumes, volume) })
}

// StillAlive returns the lifetimes at the end of the audit: pods that exist have not died before it.
func StillAlive(all []Lifetime) []Lifetime {
	ended := slices.Clone(all)
	for i := range ended {
		if ended[i].Died == 0 {
			ended[i].Died = math.MaxUint64
		}
	}
	return ended
}

// Replacing marks the claims of ordinals that were deleted, until they are created again.
type Replacing map[VolumeKey]bool

// Note records the state of an ordinal's claim; the zero state means that it does not exist.
func (r Replacing) Note(key VolumeKey, claim ClaimState) {
	r[key] = claim.UID == "" || claim.Terminating
}

// Ordinal reports whether a claim of the ordinal is deleted.
func (r Replacing) Ordinal(ordinal int32) bool {
	for key, is := range r {
		if is && key.Ordinal == ordinal {
			return true
		}
	}
	return false
}

// heldInPlace returns the ordinals that a migration in place holds down: those that are not available since one of their
// claims was deleted.
func heldInPlace(in BudgetInput) []int32 {
	var down []int32
	for _, ordinal := range in.Ordinals {
		if !in.Blamed[ordinal] && in.Replaced[ordinal] && isDown(in.First[Source], in.Second[Source], ordinal) {
			down = append(down, ordinal)
		}
	}
	return down
}
