package mcs

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// by returns an export of a cluster of that age in seconds, with one endpoint.
func by(cluster string, age int, service *corev1.Service) exported {
	created := metav1.NewTime(time.Unix(int64(1000-age), 0))
	e := exported{cluster: cluster, export: &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: created}}, service: service}
	if service != nil {
		e.slices = []discoveryv1.EndpointSlice{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0-abc", Labels: map[string]string{discoveryv1.LabelServiceName: "web-0", "other": "label"}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0." + cluster}, NodeName: new("node"), Hostname: new("web-0"), TargetRef: &corev1.ObjectReference{Name: "web-0"},
			}},
		}}
	}
	return e
}

func service(ip string, ports ...int32) *corev1.Service {
	s := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: ip}}
	for _, port := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: port})
	}
	return s
}

func TestDerive(t *testing.T) {
	external := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}
	for name, tc := range map[string]struct {
		all      []exported
		clusters []string
		kind     mcsv1beta1.ServiceImportType
		slices   []string
		// told is the reported state by cluster: the reason of the first condition that does not have its normal value
		told map[string]string
	}{
		"nobody":   {told: map[string]string{}},
		"headless": {[]exported{by("1", 0, service("None", 80))}, []string{"1"}, mcsv1beta1.Headless, []string{"1-web-0-abc"}, map[string]string{"1": ""}},
		"with an address": {
			[]exported{by("1", 0, service("10.1.1.1", 80))},
			[]string{"1"},
			mcsv1beta1.ClusterSetIP,
			[]string{"1-web-0-abc"},
			map[string]string{"1": ""},
		},
		"both": {
			[]exported{by("2", 0, service("None", 80)), by("1", 0, service("None", 80))},
			[]string{"1", "2"},
			mcsv1beta1.Headless,
			[]string{"1-web-0-abc", "2-web-0-abc"},
			map[string]string{"1": "", "2": ""},
		},
		"no Service":    {[]exported{by("1", 0, nil)}, nil, "", nil, map[string]string{"1": "NoService"}},
		"external name": {[]exported{by("1", 0, external)}, nil, "", nil, map[string]string{"1": "InvalidServiceType"}},
		"the older type wins": {
			[]exported{by("1", 0, service("None", 80)), by("2", 9, service("10.1.1.1", 80))},
			[]string{"1", "2"},
			mcsv1beta1.ClusterSetIP,
			[]string{"2-web-0-abc", "1-web-0-abc"},
			map[string]string{"1": "TypeConflict", "2": ""},
		},
		"other ports": {
			[]exported{by("1", 9, service("None", 80)), by("2", 0, service("None", 81))},
			[]string{"1", "2"},
			mcsv1beta1.Headless,
			[]string{"1-web-0-abc", "2-web-0-abc"},
			map[string]string{"1": "", "2": "PortConflict"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := derive(tc.all)
			var names []string
			for i := range got.slices {
				names = append(names, got.slices[i].Name)
			}
			told := map[string]string{}
			for cluster, conditions := range got.conditions {
				told[cluster] = complaint(conditions)
			}
			for what, diff := range map[string]string{
				"clusters": cmp.Diff(tc.clusters, got.clusters), "kind": cmp.Diff(tc.kind, got.kind),
				"slices": cmp.Diff(tc.slices, names), "conditions": cmp.Diff(tc.told, told),
			} {
				if diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
			}
		})
	}
}

func complaint(conditions []metav1.Condition) string {
	for _, c := range conditions {
		good := metav1.ConditionTrue
		if c.Type == string(mcsv1beta1.ServiceExportConditionConflict) {
			good = metav1.ConditionFalse
		}
		if c.Status != good {
			return c.Reason
		}
	}
	return ""
}

// TestMirror: the endpoints of another cluster keep their host name, and refer to no object.
func TestMirror(t *testing.T) {
	original := by("1", 0, service("None", 80)).slices[0]
	got := mirror(&original, "east")
	want := discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "east-web-0-abc", Labels: map[string]string{
			discoveryv1.LabelManagedBy: mirrors, mcsv1beta1.LabelSourceCluster: "east", mcsv1beta1.LabelServiceName: "web-0",
		}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Hostname: new("web-0")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if original.Endpoints[0].NodeName == nil {
		t.Error("the original, which is in a cache, was changed")
	}
}
