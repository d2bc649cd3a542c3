package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// defaultDeadlineSeconds is progressDeadlineSeconds if the API server did not set the default.
const defaultDeadlineSeconds = 600

// SpecOf returns the desired state of a StatefulSet, with defaults filled in and percentages resolved.
func SpecOf(set *api.StatefulSet) (Spec, error) {
	_, migrating := set.Annotations[api.MigratingAnnotationKey]
	spec := Spec{
		Replicas:         valueOr(set.Spec.Replicas, 1),
		Parallel:         set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement,
		Strategy:         cmp.Or(set.Spec.UpdateStrategy.Type, api.RollingUpdate),
		MaxUnavailable:   1,
		MinReady:         seconds(set.Spec.MinReadySeconds),
		Paused:           set.Spec.Paused,
		Policy:           api.ReCreate,
		OnFailure:        api.Halt,
		Deadline:         seconds(valueOr(set.Spec.ProgressDeadlineSeconds, defaultDeadlineSeconds)),
		Tell:             tellOf(set),
		TerminationGrace: seconds(set.Spec.TerminationReasonGraceSeconds),
		Migrating:        migrating,
		Deleting:         set.DeletionTimestamp != nil,
		Orphaning:        slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents),
	}
	if spec.Deleting {
		spec.DeletingSince = set.DeletionTimestamp.Time
	}
	if set.Spec.Ordinals != nil {
		spec.Start = set.Spec.Ordinals.Start
	}
	var err error
	if spec.Reserved, err = reservedOf(set.Spec.ReserveOrdinals); err != nil {
		return Spec{}, err
	}
	if err := spec.boundScaling(set.Spec.ScaleStrategy); err != nil {
		return Spec{}, err
	}
	// A missing block means its defaults. A block of another strategy has no effect.
	if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && spec.Strategy == api.RollingUpdate {
		if err := spec.roll(rolling); err != nil {
			return Spec{}, err
		}
	}
	if recreate := set.Spec.UpdateStrategy.Recreate; recreate != nil && spec.Strategy == api.Recreate {
		spec.OnFailure = cmp.Or(recreate.OnFailure, api.Halt)
	}
	spec.Split = SplitOf(set)
	if spec.Migrating {
		spec.besideMigration(api.ShareOf(set.Annotations))
	}
	if spec.Migrating || spec.Split {
		// There are no surge pods, because the ordinals above the range may run elsewhere.
		spec.MaxUnavailable = max(spec.MaxUnavailable, 1)
	}
	return spec, nil
}

// SplitOf reports whether another slice may own ordinals of the application. The status keeps the value of the annotation
// until the annotation is "false". A client that replaces the set may drop its annotations by accident.
func SplitOf(set *api.StatefulSet) bool {
	_, migrating := set.Annotations[api.MigratingAnnotationKey]
	said, says := set.Annotations[api.SplitAnnotationKey]
	if migrating || says {
		return migrating || said != api.NotSplit
	}
	return meta.IsStatusConditionTrue(set.Status.Conditions, api.ConditionSplit)
}

// tellOf returns the policy for termination reasons. IfRead becomes Always for a set with a grace period, which exists for
// the reason, or with a preDelete hook, whose owner waits for the reason.
func tellOf(set *api.StatefulSet) api.TerminationReasonPolicy {
	policy, lifecycle := cmp.Or(set.Spec.TerminationReasonPolicy, api.AnnounceIfRead), set.Spec.Lifecycle
	if policy == api.AnnounceIfRead && (set.Spec.TerminationReasonGraceSeconds > 0 || lifecycle != nil && lifecycle.PreDelete != nil) {
		return api.AnnounceAlways
	}
	return policy
}

// besideMigration limits the updates of a slice during a migration. Recreate is paused, because stopping all pods at once
// exceeds any budget.
func (s *Spec) besideMigration(share *int32) {
	s.Share = share
	s.Paused = s.Paused || s.Strategy == api.Recreate
}

// MostUnavailable returns the maximum number of unavailable pods at which an available pod may still be updated.
func (s Spec) MostUnavailable() int32 {
	if s.Share == nil {
		return s.MaxUnavailable
	}
	return min(s.MaxUnavailable, *s.Share)
}

// boundScaling reads scaleStrategy.
func (s *Spec) boundScaling(scale *api.ScaleStrategy) error {
	if scale == nil || scale.MaxUnavailable == nil || !s.Parallel {
		return nil
	}
	most, err := roundedUp(scale.MaxUnavailable, s.Replicas)
	if err != nil {
		return fmt.Errorf("scaleStrategy.maxUnavailable: %w", err)
	}
	s.ScaleMaxUnavailable = max(most, 1)
	return nil
}

// roll reads rollingUpdate.
func (s *Spec) roll(rolling *api.RollingUpdateStrategy) error {
	surge, err := roundedUp(rolling.MaxSurge, s.Replicas)
	if err != nil {
		return fmt.Errorf("maxSurge: %w", err)
	}
	// More surge pods than replicas would have no pod to replace.
	s.MaxSurge = min(surge, s.Replicas)
	if rolling.MaxUnavailable != nil {
		if s.MaxUnavailable, err = roundedUp(rolling.MaxUnavailable, s.Replicas); err != nil {
			return fmt.Errorf("maxUnavailable: %w", err)
		}
		if s.MaxSurge == 0 {
			s.MaxUnavailable = max(s.MaxUnavailable, 1)
		}
	}
	s.Partition = valueOr(rolling.Partition, 0)
	s.MinReady = max(s.MinReady, seconds(valueOr(rolling.MinReadySeconds, 0)))
	s.Paused = s.Paused || rolling.Paused
	s.PrePull = rolling.PrePull
	s.Unhealthy = rolling.UnhealthyPodEvictionPolicy
	s.Evicts = rolling.Budget == api.BudgetPodDisruptionBudget
	s.TopologyKey = rolling.TopologyKey
	s.Policy = cmp.Or(rolling.PodUpdatePolicy, api.ReCreate)
	s.OnFailure = cmp.Or(rolling.OnFailure, api.Halt)
	if rolling.InPlaceUpdateStrategy != nil {
		s.InPlaceGrace = seconds(rolling.InPlaceUpdateStrategy.GracePeriodSeconds)
	}
	s.Unordered = s.Parallel && rolling.UnorderedUpdate != nil && rolling.UnorderedUpdate.PriorityStrategy != nil
	return nil
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func valueOr(value *int32, missing int32) int32 {
	if value == nil {
		return missing
	}
	return *value
}

// roundedUp returns a number, or a percentage of replicas rounded up, or 0 if the value is missing.
func roundedUp(value *intstr.IntOrString, replicas int32) (int32, error) {
	if value == nil {
		return 0, nil
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(value, int(replicas), true)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%s is out of range", value)
	}
	return int32(n), nil
}

// reservedOf parses numbers and ranges like "3-5". The result stays ranges, because an expanded range may exceed the memory.
func reservedOf(reserve []intstr.IntOrString) ([]Range, error) {
	read := make([]Range, 0, len(reserve))
	for i := range reserve {
		r, err := rangeOf(&reserve[i])
		if err != nil {
			return nil, fmt.Errorf("reserveOrdinals %q: %w", reserve[i].String(), err)
		}
		read = append(read, r)
	}
	slices.SortFunc(read, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	var merged []Range
	for _, r := range read {
		last := len(merged) - 1
		// In 64 bits, because the last ordinal may be the largest int32.
		if last >= 0 && int64(r.First) <= int64(merged[last].Last)+1 {
			merged[last].Last = max(merged[last].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	return merged, nil
}

func rangeOf(value *intstr.IntOrString) (Range, error) {
	if value.Type == intstr.Int {
		if value.IntVal < 0 {
			return Range{}, fmt.Errorf("%d is negative", value.IntVal)
		}
		return Range{value.IntVal, value.IntVal}, nil
	}
	from, to, ranged := strings.Cut(value.StrVal, "-")
	first, err := strconv.ParseUint(from, 10, 31)
	if err != nil {
		return Range{}, err
	}
	if !ranged {
		return Range{int32(first), int32(first)}, nil
	}
	last, err := strconv.ParseUint(to, 10, 31)
	if err != nil {
		return Range{}, err
	}
	if last < first {
		return Range{}, fmt.Errorf("%d is smaller than %d", last, first)
	}
	return Range{int32(first), int32(last)}, nil
}

// LocalPartition converts a partition to the form that apps/v1 uses: a number of pods from the first one instead of an
// ordinal (kubernetes/kubernetes#128529).
func LocalPartition(partition, start, replicas int32) int32 {
	return int32(min(max(int64(partition)-int64(start), 0), int64(replicas)))
}

// Priority returns the priority of a pod with these labels. Priorities are compared element by element, and the larger one
// is updated first. Weights are summed to one element. Each ordered key gives one element: the number that ends the label's
// value, or -1 if the label is missing.
func Priority(strategy *api.PriorityStrategy, of map[string]string) ([]int64, error) {
	if strategy == nil {
		return nil, nil
	}
	if len(strategy.WeightPriority) > 0 {
		var sum int64
		for i := range strategy.WeightPriority {
			term := &strategy.WeightPriority[i]
			selector, err := metav1.LabelSelectorAsSelector(&term.MatchSelector)
			if err != nil {
				return nil, fmt.Errorf("weightPriority: %w", err)
			}
			if selector.Matches(labels.Set(of)) {
				sum += int64(term.Weight)
			}
		}
		return []int64{sum}, nil
	}
	var numbers []int64
	for _, term := range strategy.OrderPriority {
		number := int64(-1)
		if value, found := of[term.OrderedKey]; found {
			number = trailingNumber(value)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// trailingNumber returns the number that ends a text. It returns 0 if there is none, and the largest int64 if the number is
// larger.
func trailingNumber(text string) int64 {
	digits := text[len(strings.TrimRight(text, "0123456789")):]
	if digits == "" {
		return 0
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return number
}
