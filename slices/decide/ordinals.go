package decide

import (
	"iter"
	"math"
	"slices"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// MostCreated is the maximum number of pods that one pass creates (BurstReplicas of Kubernetes' ReplicaSet controller). A
// pass considers no more ordinals without a pod. Its cost then does not depend on the size of the range.
const MostCreated = 500

// Ordinals returns the ordinals that the slice owns, ascending. The range may have millions: a pass uses All, Size, Below,
// End and Owns instead.
func (s Spec) Ordinals() []int32 { return slices.Collect(s.All()) }

// All yields the ordinals that the slice owns, ascending.
func (s Spec) All() iter.Seq[int32] { return s.from(int64(s.Start), int64(s.Replicas)) }

// Next returns the first count ordinals from an ordinal on that are not reserved. It returns fewer if it reaches the largest
// int32.
func (s Spec) Next(from int64, count int32) []int32 {
	return slices.Collect(s.from(from, int64(count)))
}

func (s Spec) from(at, count int64) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		reserved := s.Reserved
		for ; count > 0 && at <= math.MaxInt32; at++ {
			for len(reserved) > 0 && int64(reserved[0].Last) < at {
				reserved = reserved[1:]
			}
			if len(reserved) > 0 && int64(reserved[0].First) <= at {
				at = int64(reserved[0].Last)
				continue
			}
			if count--; !yield(int32(at)) {
				return
			}
		}
	}
}

// rank returns the number of ordinals from Start to below at that are not reserved.
func (s Spec) rank(at int64) int64 {
	free := at - int64(s.Start)
	for _, r := range s.Reserved {
		if first, last := int64(max(r.First, s.Start)), min(int64(r.Last), at-1); first <= last {
			free -= last - first + 1
		}
	}
	return max(free, 0)
}

// below is Below for an ordinal that may be above the largest int32.
func (s Spec) below(at int64) int32 { return int32(min(s.rank(at), int64(max(s.Replicas, 0)))) }

// Below returns the number of ordinals of the slice that are lower than an ordinal.
func (s Spec) Below(ordinal int32) int32 { return s.below(int64(ordinal)) }

// Size returns the number of ordinals that the slice owns: Replicas, or fewer if the range reaches the largest int32.
func (s Spec) Size() int32 { return s.below(math.MaxInt32 + 1) }

// End returns the first ordinal above all ordinals of the slice, or Start if it owns none.
func (s Spec) End() int64 {
	end, left := int64(s.Start), int64(s.Size())
	for _, r := range s.Reserved {
		first := int64(max(r.First, s.Start))
		switch {
		case int64(r.Last) < end: // below the range
		case left <= first-end:
			return end + left
		default:
			left -= first - end
			end = int64(r.Last) + 1
		}
	}
	return end + left
}

// Owns reports whether an ordinal is one of Ordinals.
func (s Spec) Owns(ordinal int32) bool {
	return ordinal >= s.Start && s.rank(int64(ordinal)) < int64(s.Replicas) && !s.skips(ordinal)
}

// skips reports whether an ordinal is reserved.
func (s Spec) skips(ordinal int32) bool {
	return slices.ContainsFunc(s.Reserved, func(r Range) bool { return r.First <= ordinal && ordinal <= r.Last })
}

// Above returns the first ordinal at which a surge pod may run during an update, and whether any may. During a migration,
// and in a split application, the ordinals above the range may run elsewhere.
func (s Spec) Above() (first int64, may bool) {
	if s.Strategy != api.RollingUpdate || s.MaxSurge == 0 || s.Migrating || s.Split || s.Size() == 0 {
		return 0, false
	}
	return s.End(), true
}

// MostSurge returns the maximum number of surge pods in this pass, given the number of pods that exist.
func (s Spec) MostSurge(pods int) int32 {
	return int32(min(int64(s.MaxSurge), int64(pods)+MostCreated))
}

// Surges returns the ordinals above the range that may run during an update, ascending. These are the existing surge pods
// and the next ordinals without foreign claims.
func (in Input) Surges() []int32 {
	first, may := in.Spec.Above()
	if !may {
		return nil
	}
	var out []int32
	passed := map[int32]bool{}
	for _, at := range in.Taken {
		passed[at] = true
	}
	for i := range in.Pods {
		at := in.Pods[i].Ordinal
		if in.Pods[i].StandIn && int64(at) >= first && !in.Spec.skips(at) {
			out, passed[at] = append(out, at), true
		}
	}
	slices.Sort(out)
	most := in.Spec.MostSurge(len(in.Pods))
	for _, at := range in.Spec.Next(first, most+int32(len(in.Taken)+len(out))) {
		if !passed[at] {
			out = append(out, at)
		}
	}
	out = out[:min(len(out), int(most))]
	slices.Sort(out)
	return out
}
