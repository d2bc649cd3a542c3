package world

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

// TestStaysOf: a roll-out does not end automatically while a pod of a former revision is not replaced.
func TestStaysOf(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "s"}}
	set.Status.UpdateRevision = "new"
	pod := func(name, revision string) corev1.Pod {
		owner := *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}, OwnerReferences: []metav1.OwnerReference{owner}}}
	}
	going := pod("web-1", "old")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, tc := range map[string]struct {
		pods  []corev1.Pod
		facts workload.Facts
		want  plan.Stays
	}{
		"all are new":               {[]corev1.Pod{pod("web-1", "new")}, workload.Facts{Paused: true, ByHand: true, KeepsBelow: 9}, ""},
		"it rolls out":              {[]corev1.Pod{pod("web-1", "old")}, workload.Facts{}, ""},
		"paused":                    {[]corev1.Pod{pod("web-1", "old")}, workload.Facts{Paused: true}, plan.StaysPaused},
		"Y4 it has failed":          {[]corev1.Pod{pod("web-1", "old")}, workload.Facts{Failed: true, Paused: true, ByHand: true}, plan.StaysFailed},
		"by hand":                   {[]corev1.Pod{pod("web-1", "old")}, workload.Facts{ByHand: true}, plan.StaysOnDelete},
		"by hand, and it goes":      {[]corev1.Pod{going}, workload.Facts{ByHand: true}, ""},
		"below the partition":       {[]corev1.Pod{pod("web-3", "new"), pod("web-1", "old")}, workload.Facts{KeepsBelow: 2}, plan.StaysPartition},
		"none below the partition":  {[]corev1.Pod{pod("web-2", "old")}, workload.Facts{KeepsBelow: 2}, ""},
		"below it and above, later": {[]corev1.Pod{pod("web-2", "old"), pod("web-1", "old")}, workload.Facts{KeepsBelow: 2}, plan.StaysPartition},
	} {
		if got := staysOf(set, tc.pods, tc.facts); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
