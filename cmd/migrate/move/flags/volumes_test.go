package flags

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestVolumeFlag: settings that the user knows about the application follow the method.
func TestVolumeFlag(t *testing.T) {
	for text, want := range map[string]api.VolumeSpec{
		"data=rebind":                 {ClaimTemplate: "data", Method: api.MethodRebind},
		"data=empty":                  {ClaimTemplate: "data", Method: api.MethodEmpty},
		"data=empty,fills-from-peers": {ClaimTemplate: "data", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true}},
		"data=empty,fills-from-peers,ready-when-filled,returns-to-kept": {
			ClaimTemplate: "data", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true, ReturnsToKept: true},
		},
		"data=copy,image=registry:5000/m:v1": {ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "registry:5000/m:v1"}},
		"data=snapshot":                      {ClaimTemplate: "data", Method: api.MethodSnapshot},
		"data=snapshot,class=fast,size=5Gi": {
			ClaimTemplate: "data", Method: api.MethodSnapshot, Snapshot: api.SnapshotSpec{ClassName: "fast", Size: new(resource.MustParse("5Gi"))},
		},
		"data=copy,image=m,size=5Gi,service=load-balancer,address=gate:8722,bandwidth=50Mi,run-as=7:8": {
			ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{
				Image: "m", Size: new(resource.MustParse("5Gi")), ServiceType: corev1.ServiceTypeLoadBalancer, Address: "gate:8722",
				Bandwidth: new(resource.MustParse("50Mi")), RunAsUser: new(int64(7)), RunAsGroup: new(int64(8)),
			},
		},
		"data=copy,image=m,verify=changed": {ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", Verify: api.CopyVerifyChanged}},
		"data=copy,image=m,verify=full":    {ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", Verify: api.CopyVerifyFull}},
		"data=copy,image=m,verify=later,accept=3+0+3": {
			ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", Verify: api.CopyVerifyLater, AcceptDiffering: []int32{3, 0}},
		},
		"data=copy,image=m,prefetch=8":    {ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", Prefetch: 8}},
		"data=copy,image=m,warm=snapshot": {ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "m", Warm: api.CopyWarmSnapshot}},
		"data=copy,image=m,warm=mount,downtime=2m,limit=5m,cutover=manual": {
			ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{
				Image: "m", Warm: api.CopyWarmMount, DowntimeBudget: &metav1.Duration{Duration: 2 * time.Minute}, DowntimeLimit: &metav1.Duration{Duration: 5 * time.Minute}, Cutover: api.CutoverManual,
			},
		},
		"data=copy,image=m,cutover=2026-12-01T03:00:00+01:00": {
			ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{
				Image: "m", Cutover: api.CutoverAt, CutoverAt: new(metav1.NewTime(time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC))),
			},
		},
	} {
		got, err := parseSpec("--volume", text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]api.VolumeSpec{want}, got.Volumes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"data": "TEMPLATE=METHOD", "=empty": "TEMPLATE=METHOD", "data=copy-it": "rebind, empty, copy or snapshot",
		"data=snapshot,class": `"class" does not have the form class=VOLUMESNAPSHOTCLASS`, "data=snapshot,size=0": "the form size=SIZE", "data=snapshot,image=m": `method snapshot has no setting "image=m", only: class=`,
		"data=copy,image": "the form image=IMAGE", "data=copy,size=-1": "the form size=SIZE", "data=copy,service=mesh": "the form service=cluster-ip|node-port|load-balancer|export",
		"data=copy,run-as=me": "the form run-as=USER[:GROUP]", "data=copy,run-as=1:": "the form run-as=", "data=copy,fills-from-peers": `has no setting "fills-from-peers", only: `,
		"data=copy,verify=some": "the form verify=full|changed|later", "data=copy,accept=all": "the form accept=ORDINAL[+ORDINAL]", "data=copy,accept=-1": "the form accept=", "data=copy,prefetch=9": "the form prefetch=0..8", "data=copy,prefetch=-1": "the form prefetch=0..8", "data=copy,warm=hot": "the form warm=auto|mount|snapshot|none",
		"data=copy,downtime=-1s": "the form downtime=DURATION", "data=copy,limit=0s": "the form limit=DURATION",
		"data=copy,cutover=later": "the form cutover=automatic|manual|now|2026-12-01T02:00:00Z", "data=copy,cutover=2026-12-01": "the form cutover=",
		"data=empty,sure": "fills-from-peers", "data=rebind,fills-from-peers": `method rebind has no settings, and "fills-from-peers" was given`, "data=empty,": "has no setting",
	} {
		if _, err := parseSpec("--volume", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
