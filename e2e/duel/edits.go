package duel

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// edit returns the writes that change the wish; none if the step is no edit.
func (t Step) edit(w *wish) []func() {
	before := w.Template.DeepCopy()
	change := t.template(w)
	if change == nil {
		change = t.spec(w)
	}
	switch {
	case change == nil:
		return nil
	case t.Kind == stepThereAndBack:
		return []func(){change, func() { w.Template = *before }}
	default:
		return []func(){change}
	}
}

// template returns the edit of the template.
func (t Step) template(w *wish) func() {
	set := func(edit func()) func() {
		return func() {
			w.former = append(w.former, *w.Template.DeepCopy())
			edit()
		}
	}
	switch t.Kind {
	case stepImage:
		return set(func() { w.newImage("") })
	case stepThereAndBack:
		return func() { w.newImage("") }
	case stepBroken:
		return set(func() { w.newImage(never) })
	case stepSlow:
		return set(func() { w.newImage(lateAfter) })
	case stepAnnotate:
		return set(func() {
			w.Template.Labels = map[string]string{appLabel: w.name, "step": []string{"a", "b", "c"}[t.A%3]}
		})
	case stepBack:
		return func() {
			if n := len(w.former); n > 0 {
				w.Template = *w.former[max(0, n-1-int(t.A)/2)].DeepCopy()
			}
		}
	}
	return nil
}

// spec returns any other edit.
func (t Step) spec(w *wish) func() {
	switch t.Kind {
	case stepReplicas:
		return func() { w.Replicas = new(t.A) }
	case stepStart:
		return func() { w.Ordinals.Start = t.B }
	case stepRange:
		return func() { w.Replicas, w.Ordinals.Start = new(t.A), t.B }
	case stepMinReady:
		return func() { w.MinReadySeconds = t.B / 2 }
	case stepHistory:
		return func() { w.RevisionHistoryLimit = new(t.B / 2) }
	case stepRetention:
		policies := []appsv1.PersistentVolumeClaimRetentionPolicyType{
			appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
		return func() {
			w.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: policies[t.A%2], WhenDeleted: policies[t.B%2]}
		}
	}
	return t.strategy(w)
}

func (t Step) strategy(w *wish) func() {
	rolls := w.UpdateStrategy.RollingUpdate
	switch {
	case t.Kind == stepStrategy && t.A%2 == 0:
		return func() {
			w.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		}
	case t.Kind == stepStrategy:
		return func() { w.UpdateStrategy = rolling(0, nil) }
	case t.Kind == stepPartition && rolls == nil:
		return func() { w.UpdateStrategy = rolling(t.B, nil) }
	case t.Kind == stepPartition:
		return func() { rolls.Partition = new(t.B) }
	case t.Kind == stepMaxUnavailable && rolls == nil:
		return func() { w.UpdateStrategy = rolling(0, t.mostUnavailable()) }
	case t.Kind == stepMaxUnavailable:
		return func() { rolls.MaxUnavailable = t.mostUnavailable() }
	}
	return nil
}

func (t Step) mostUnavailable() *intstr.IntOrString {
	if texts := []string{"1%", "25%", "50%", "100%"}; t.B < 2 {
		return new(intstr.FromString(texts[t.A%4]))
	}
	return new(intstr.FromInt32([]int32{1, 2, 3, 2147483647}[t.A%4]))
}
