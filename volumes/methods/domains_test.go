package methods

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sliceshift/sliceshift/volumes"
)

// TestReceiverStays: rules that keep the pods of a set apart would keep the receiver of an ordinal that stays among them from the
// place of that ordinal's own pod, or let it create a volume where that pod may not run. It goes to that place instead, unless
// the class provisions nothing there.
func TestReceiverStays(t *testing.T) {
	const zone = "topology.kubernetes.io/zone"
	apart := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname}}}}
	spread := []corev1.TopologySpreadConstraint{{TopologyKey: zone, WhenUnsatisfiable: corev1.DoNotSchedule}}
	for name, tc := range map[string]struct {
		pod    corev1.PodSpec
		stays  bool
		node   string
		only   string
		places []string
		kept   bool
	}{
		"it has no rules":                 {corev1.PodSpec{}, true, "n", "", nil, false},
		"by hosts and zones":              {corev1.PodSpec{Affinity: apart, TopologySpreadConstraints: spread}, true, "n", "", []string{corev1.LabelHostname + "=n", zone + "=a"}, false},
		"as far as it can":                {corev1.PodSpec{TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: zone, WhenUnsatisfiable: corev1.ScheduleAnyway}}}, true, "n", "", nil, true},
		"the class is for this zone":      {corev1.PodSpec{TopologySpreadConstraints: spread}, true, "n", "a", []string{zone + "=a"}, false},
		"the class is for another zone":   {corev1.PodSpec{TopologySpreadConstraints: spread}, true, "n", "b", nil, true},
		"it moves":                        {corev1.PodSpec{TopologySpreadConstraints: spread}, false, "n", "", nil, true},
		"its pod does not run":            {corev1.PodSpec{TopologySpreadConstraints: spread}, true, "", "", nil, true},
		"the node does not exist anymore": {corev1.PodSpec{TopologySpreadConstraints: spread}, true, "other", "", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSides(t)
			class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}}
			if tc.only != "" {
				class.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zone, Values: []string{tc.only}}}}}
			}
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "in"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class.Name}}
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelHostname: "n", zone: "a"}}}
			byName := func(o client.Object) []string { return []string{o.GetName()} }
			s.Taker = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(class, claim, node).WithIndex(node, metav1.ObjectNameField, byName).Build()
			s.Template = func(context.Context) (*corev1.PodTemplateSpec, error) {
				return &corev1.PodTemplateSpec{Spec: tc.pod}, nil
			}
			s.pair.Copy = &volumes.Copying{Stays: tc.stays, Pod: volumes.CopyPod{Node: tc.node}}
			made, err := Write(t.Context(), s.Carrier, volumes.Action{Verb: volumes.CreateMover, Fence: owner + ".1", Ref: volumes.Ref{Namespace: "team", Name: "in"}, Copy: volumes.CopyAction{Role: volumes.RoleReceiver, Pod: "receiver"}}, s.pair)
			if err != nil {
				t.Fatal(err)
			}
			spec := made.(*corev1.Pod).Spec
			var places []string
			if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
				for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
					for _, e := range term.MatchExpressions {
						places = append(places, e.Key+"="+e.Values[0])
					}
				}
			}
			rules := len(spec.TopologySpreadConstraints) > 0 || spec.Affinity != nil && spec.Affinity.PodAntiAffinity != nil
			if diff := cmp.Diff(tc.places, places); diff != "" || rules != tc.kept {
				t.Errorf("its own rules are kept: %t; places (-want +got):\n%s", rules, diff)
			}
		})
	}
}
