package copy

import (
	"fmt"

	"github.com/sliceshift/sliceshift/volumes"
)

// outgrown reports whether the claim that is copied has become larger than the new volume, so that its content
// may not fit any more. A sealed copy fits.
func (v view) outgrown() bool {
	in := v.Incoming
	return in.Bound() && in.Volume.Size > 0 && v.Asked.Needed > in.Volume.Size && !v.Sealed() && !v.Taken()
}

// grow begins another attempt, with a new volume of the size that is needed now. The ordinal runs meanwhile.
func (v view) grow() volumes.Verdict {
	if problem := unasked(v.Pair); problem != nil {
		return volumes.Held(problem)
	}
	return v.begin()
}

// tooSmall returns the problem for an ordinal that is down: it does not wait for a copy from the start.
func (v view) tooSmall() volumes.Verdict {
	in := v.Incoming
	return blocked(volumes.ReasonCopySizeTooSmall,
		fmt.Sprintf("claim %s/%s grew while it was copied: it has %d bytes, and its copy in claim %s/%s has %d, so it may not fit", v.Giver.Ref.Namespace, v.Giver.Ref.Name, v.Asked.Needed, in.Ref.Namespace, in.Ref.Name, in.Volume.Size),
		fmt.Sprintf("grow the copy, if its storage class allows that: %s; or return the ordinal: spec.mode: Rollback",
			in.Command("patch pvc -n %s %s --type=merge -p %s", in.Ref.Namespace, in.Ref.Name, fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":"%d"}}}}`, v.Asked.Needed))))
}
