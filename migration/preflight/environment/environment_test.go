package environment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

func specOf(t testing.TB, text string) corev1.PodSpec {
	t.Helper()
	var spec corev1.PodSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// shown returns each finding as its reason and whether it is a warning, and the texts. It fails for a finding without
// a remedy.
func shown(t testing.TB, findings []plan.Finding) (reasons []string, text string) {
	t.Helper()
	var said strings.Builder
	for _, f := range findings {
		reason := f.Reason
		if f.Warning {
			reason += " (warning)"
		}
		if f.Remedy == "" || f.Object == "" {
			t.Errorf("%+v", f)
		}
		reasons = append(reasons, reason)
		said.WriteString(f.Message + "\n" + f.Remedy + "\n")
	}
	return reasons, said.String()
}

// TestP11Images: an image in a registry of one cluster, or that is never pulled, is a warning in every place of the
// template.
func TestP11Images(t *testing.T) {
	const warning = api.ReasonImageIsLocal + " (warning)"
	for image, local := range map[string]bool{
		"nginx": false, "library/nginx:1": false, "quay.io/etcd/etcd:v3": false, "registry.example.com:5000/app@sha256:ab": false, "gcr.io/a/b": false, "8.8.8.8:5000/a": false,
		"registry.infra.svc:5000/app": true, "registry.infra.svc.cluster.local/app": true, "localhost:5000/app": true, "localhost/app": true, "127.0.0.1:32000/app": true,
		"10.96.0.7:5000/app": true, "[fd00::1]:5000/app": true, "kind-registry:5000/app": true, "registry.kube-system:80/app": true, "registry.local/app": true,
	} {
		var want []string
		if local {
			want = []string{warning}
		}
		reasons, text := shown(t, Images(endpointtest.Pair(nil, nil), specOf(t, "containers: [{name: app, image: '"+image+"'}]")))
		if diff := cmp.Diff(want, reasons); diff != "" || local && !strings.Contains(text, image+" (container app)") {
			t.Errorf("%s: %s%s", image, diff, text)
		}
	}
	everywhere := specOf(t, `
initContainers: [{name: init, image: a, imagePullPolicy: Never}]
containers: [{name: app, image: localhost/a}]
volumes: [{name: model, image: {reference: localhost/model, pullPolicy: Never}}]
`)
	reasons, text := shown(t, Images(endpointtest.Pair(nil, nil), everywhere))
	if len(reasons) != 2 || !strings.Contains(text, "localhost/model (volume model)") || !strings.Contains(text, "init container init") {
		t.Errorf("%v\n%s", reasons, text)
	}
	if found := Images(within("shop"), everywhere); len(found) > 0 {
		t.Errorf("within a cluster: %v", found)
	}
}

// within returns two sides of one cluster, the second in the given namespace.
func within(namespace string) (sides *endpoint.Pair) {
	sides = endpointtest.Pair(nil, nil)
	sides.Destination.ID, sides.Destination.Namespace = sides.Source.ID, namespace
	return sides
}

// TestP11NodeSetup: node configuration that no API shows is a warning; configuration that every node has is not.
func TestP11NodeSetup(t *testing.T) {
	for text, says := range map[string]string{
		"securityContext: {seccompProfile: {type: Localhost, localhostProfile: a.json}}":                                                    "seccomp profile a.json on the node (securityContext)",
		"containers: [{name: app, securityContext: {appArmorProfile: {type: Localhost, localhostProfile: web}}}]":                           "AppArmor profile web, loaded on the node (container app)",
		"securityContext: {sysctls: [{name: net.core.somaxconn, value: '1024'}]}":                                                           "sysctl net.core.somaxconn",
		"securityContext: {sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}], seccompProfile: {type: RuntimeDefault}}":                 "",
		"volumes: [{name: tls, projected: {sources: [{podCertificate: {signerName: example.com/mesh, keyType: ED25519}}]}}]":                "signer example.com/mesh (volume tls)",
		"volumes: [{name: ca, projected: {sources: [{clusterTrustBundle: {signerName: kubernetes.io/kube-apiserver-serving, path: ca}}]}}]": "",
	} {
		reasons, got := shown(t, NodeSetup(endpointtest.Pair(nil, nil), specOf(t, text)))
		if (says == "") != (len(reasons) == 0) || !strings.Contains(got, says) {
			t.Errorf("%s: %v %s", text, reasons, got)
		}
	}
}

// TestP11Schedulers: a scheduler that has bound no pod at the destination, and scheduling gates, are warnings.
func TestP11Schedulers(t *testing.T) {
	sides := endpointtest.Pair(nil, nil)
	for name, tc := range map[string]struct {
		spec  string
		binds bool
		says  string
	}{
		"none is named":     {"{}", false, ""},
		"that of everybody": {"schedulerName: default-scheduler", false, ""},
		"it binds":          {"schedulerName: volcano", true, ""},
		"it binds nothing":  {"schedulerName: volcano", false, "use scheduler volcano, which has bound no pod in cluster west"},
		"a gate":            {"schedulingGates: [{name: example.com/quota}]", true, "scheduling gate example.com/quota"},
	} {
		reasons, text := shown(t, Unscheduled(sides, specOf(t, tc.spec), tc.binds, "cluster west"))
		if (tc.says == "") != (len(reasons) == 0) || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %v %s", name, reasons, text)
		}
	}
}

// TestP5Outside: data outside of claims are refused unless the user has confirmed that the pods do not need them.
// Read-only volumes, sockets, devices that are not disks, and folders of the kernel pass.
func TestP5Outside(t *testing.T) {
	const refused, warned = api.ReasonDataOutsideClaims, api.ReasonDataOutsideClaims + " (warning)"
	mounted := func(volume, mount string) string {
		return "{containers: [{name: app, volumeMounts: [{name: v, mountPath: /v" + mount + "}]}], volumes: [{name: v, " + volume + "}]}"
	}
	for name, tc := range map[string]struct {
		spec string
		want string
		says string
	}{
		"a folder":                   {mounted("hostPath: {path: /srv/data}", ""), refused, "volume v of the pod template of StatefulSet shop/web in cluster east is hostPath /srv/data"},
		"a folder, read-only":        {mounted("hostPath: {path: /srv/data}", ", readOnly: true"), "", ""},
		"/etc":                       {mounted("hostPath: {path: /etc}", ""), refused, "/etc"},
		"/etc, read-only":            {mounted("hostPath: {path: /etc}", ", readOnly: true"), "", ""},
		"/sys":                       {mounted("hostPath: {path: /sys/kernel/mm}", ""), "", ""},
		"like /sys":                  {mounted("hostPath: {path: /sysdata}", ""), refused, "/sysdata"},
		"out of /sys":                {mounted("hostPath: {path: /sys/../srv}", ""), refused, "/sys/../srv"},
		"/dev":                       {mounted("hostPath: {path: /dev}", ""), warned, "hostPath /dev"},
		"a disk in /dev":             {mounted("hostPath: {path: /dev/sdb, type: BlockDevice}", ""), refused, "/dev/sdb"},
		"a device":                   {mounted("hostPath: {path: /dev/kvm, type: CharDevice}", ""), "", ""},
		"a socket":                   {mounted("hostPath: {path: /run/containerd/containerd.sock}", ""), "", ""},
		"a file":                     {mounted("hostPath: {path: /srv/db.sqlite, type: FileOrCreate}", ""), refused, "/srv/db.sqlite"},
		"one mount of two writes":    {"{initContainers: [{name: init, volumeMounts: [{name: v, mountPath: /v}]}], containers: [{name: app, volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}], volumes: [{name: v, hostPath: {path: /srv}}]}", refused, "/srv"},
		"nobody mounts it":           {"{containers: [{name: app}], volumes: [{name: v, hostPath: {path: /srv}}]}", "", ""},
		"what dies with the pod":     {mounted("emptyDir: {}", ""), "", ""},
		"a ConfigMap":                {mounted("configMap: {name: a}", ""), "", ""},
		"an NFS share":               {mounted("nfs: {server: nas, path: /export}", ""), warned, "nfs (nas /export)"},
		"an iSCSI disk":              {mounted("iscsi: {targetPortal: '10.0.0.1', iqn: iqn.a, lun: 1}", ""), refused, "iscsi (10.0.0.1 iqn.a)"},
		"a disk of a cloud":          {mounted("awsElasticBlockStore: {volumeID: vol-1, fsType: ext4}", ""), refused, "awsElasticBlockStore (vol-1)"},
		"replaced by a claim":        {"{containers: [{name: app, volumeMounts: [{name: data, mountPath: /v}]}], volumes: [{name: data, hostPath: {path: /srv}}]}", "", ""},
		"its user has said that all": {"{containers: [{name: app, volumeMounts: [{name: cache, mountPath: /v}]}], volumes: [{name: cache, hostPath: {path: /srv}}]}", "", ""},
	} {
		set := &appsv1.StatefulSet{}
		set.Spec.Template.Spec = specOf(t, tc.spec)
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		reasons, text := shown(t, Outside(endpointtest.Pair(nil, nil), set, func(volume string) bool { return volume == "cache" }))
		if got := strings.Join(reasons, ", "); got != tc.want || !strings.Contains(text, tc.says) || got != "" && !strings.Contains(text, "--shared v") {
			t.Errorf("%s: %q, %s", name, got, text)
		}
	}
}

// TestP10Unbound: a role that the account has at the source only is reported with the command that grants it. A role
// that is granted by another binding, or that is copied, is not.
func TestP10Unbound(t *testing.T) {
	token := Binding{Kind: "ClusterRoleBinding", Name: "vault-server", RoleKind: "ClusterRole", Role: "system:auth-delegator"}
	reader := Binding{Kind: "RoleBinding", Name: "reader", RoleKind: "Role", Role: "reader"}
	elsewhere := Binding{Kind: "RoleBinding", Namespace: "kube-system", Name: "metrics", RoleKind: "Role", Role: "auth-reader"}
	renamed := token
	renamed.Name = "another"
	for name, tc := range map[string]struct {
		here, there []Binding
		copied      bool
		want        []string
	}{
		"elsewhere":            {[]Binding{elsewhere}, nil, true, []string{"kube-system/metrics", "rolebinding metrics -n kube-system --role=auth-reader --serviceaccount=shop:web"}},
		"elsewhere, as well":   {[]Binding{elsewhere}, []Binding{elsewhere}, true, nil},
		"the same":             {[]Binding{token, reader}, []Binding{reader, renamed}, false, nil},
		"none":                 {[]Binding{token, reader}, nil, false, []string{"clusterrolebinding shop-web-system-auth-delegator --clusterrole=system:auth-delegator --serviceaccount=shop:web", "rolebinding reader -n shop --role=reader --serviceaccount=shop:web"}},
		"copied":               {[]Binding{token, reader}, nil, true, []string{"clusterrolebinding shop-web-system-auth-delegator"}},
		"in one namespace now": {[]Binding{token}, []Binding{{Kind: "RoleBinding", Name: "a", RoleKind: "ClusterRole", Role: "system:auth-delegator"}}, false, []string{"clusterrolebinding"}},
	} {
		reasons, text := shown(t, Unbound(endpointtest.Pair(nil, nil), "web", Bindings{tc.here, true}, Bindings{tc.there, true}, tc.copied))
		if len(reasons) > len(tc.want) || len(reasons) == 0 && len(tc.want) > 0 {
			t.Errorf("%s: %s", name, text)
		}
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s, want %s", name, text, want)
			}
		}
	}
	if _, text := shown(t, Unbound(endpointtest.Pair(nil, nil), "web", Bindings{[]Binding{elsewhere}, true}, Bindings{}, false)); text != "" {
		t.Errorf("what may not be looked at is not there: %s", text)
	}
	off := specOf(t, "automountServiceAccountToken: false")
	if UsesAPI(off) || !UsesAPI(corev1.PodSpec{}) || !UsesAPI(specOf(t, "{automountServiceAccountToken: false, volumes: [{name: t, projected: {sources: [{serviceAccountToken: {path: t}}]}}]}")) {
		t.Error("a token is not seen, or one that is not there")
	}
}

// TestP10Weaker: a role that allows less at the destination is a warning with the missing rules; a role that allows
// more is not.
func TestP10Weaker(t *testing.T) {
	b := Binding{Kind: "ClusterRoleBinding", Name: "vault", RoleKind: "ClusterRole", Role: "vault"}
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
	}
	read, write := rule("pods", "get"), rule("secrets", "update")
	for name, tc := range map[string]struct {
		here, there []rbacv1.PolicyRule
		want        string
	}{
		"the same":    {[]rbacv1.PolicyRule{read, write}, []rbacv1.PolicyRule{write, read}, ""},
		"more":        {[]rbacv1.PolicyRule{read}, []rbacv1.PolicyRule{rule("*", "*")}, ""},
		"less":        {[]rbacv1.PolicyRule{read, write}, []rbacv1.PolicyRule{read}, "update secrets"},
		"none":        {[]rbacv1.PolicyRule{read}, nil, "get pods"},
		"none at all": {nil, nil, ""},
	} {
		_, text := shown(t, Weaker(endpointtest.Pair(nil, nil), "web", b, tc.here, tc.there))
		if tc.want == "" && text != "" || !strings.Contains(text, tc.want) || strings.Contains(text, "get pods") && !strings.Contains(tc.want, "pods") {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}

// TestP10Alike: only roles that exist on both sides and are not copied are compared.
func TestP10Alike(t *testing.T) {
	wide := Binding{Kind: "ClusterRoleBinding", Name: "a", RoleKind: "ClusterRole", Role: "r"}
	narrow := Binding{Kind: "RoleBinding", Name: "b", RoleKind: "ClusterRole", Role: "r"}
	own := Binding{Kind: "RoleBinding", Name: "c", RoleKind: "Role", Role: "r"}
	here := []Binding{wide, narrow, own}
	for name, tc := range map[string]struct {
		there  []Binding
		copied bool
		want   []Binding
	}{
		"none there":         {nil, false, nil},
		"none there, copied": {nil, true, []Binding{narrow}},
		"all there":          {here, false, here},
		"all there, copied":  {here, true, []Binding{wide, narrow}},
	} {
		if got := Alike(endpointtest.Pair(nil, nil), Bindings{All: here}, Bindings{All: tc.there}, tc.copied); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestP6TwoLeaders: pods that may elect a leader through the API of their cluster are a warning that shows the
// evidence.
func TestP6TwoLeaders(t *testing.T) {
	rule := func(group, resource, verb string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}, {APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}}
	}
	for name, tc := range map[string]struct {
		spec  string
		rules []rbacv1.PolicyRule
		want  string
	}{
		"nothing":             {"{}", nil, ""},
		"Leases":              {"{}", rule("coordination.k8s.io", "leases", "update"), "write leases"},
		"Leases, to read":     {"{}", rule("coordination.k8s.io", "leases", "get"), ""},
		"Endpoints":           {"{}", rule("", "endpoints", "patch"), "write endpoints"},
		"Endpoints elsewhere": {"{}", rule("discovery.k8s.io", "endpoints", "patch"), ""},
		"ConfigMaps":          {"{}", rule("", "configmaps", "create"), "write configmaps"},
		"everything":          {"{}", rule("*", "*", "*"), "write leases"},
		"Patroni":             {"containers: [{name: db, env: [{name: PATRONI_KUBERNETES_USE_ENDPOINTS, value: 'true'}]}]", nil, "env PATRONI_KUBERNETES_USE_ENDPOINTS of container db"},
		"Patroni with etcd":   {"containers: [{name: db, env: [{name: PATRONI_ETCD3_HOSTS, value: a}]}]", nil, ""},
	} {
		by := Elects(specOf(t, tc.spec), tc.rules)
		if (tc.want == "") != (by == "") || !strings.Contains(by, tc.want) {
			t.Errorf("%s: %q", name, by)
		}
	}
	if reasons, text := shown(t, TwoLeaders(endpointtest.Pair(nil, nil), "env A")); len(reasons) != 1 || !strings.Contains(text, "--recipe patroni") || !strings.Contains(text, "two at once") {
		t.Errorf("%v %s", reasons, text)
	}
	if found := TwoLeaders(within("store"), "env A"); len(found) != 1 {
		t.Errorf("in another namespace: %v", found)
	}
	if found := TwoLeaders(within("shop"), "env A"); len(found) > 0 || len(TwoLeaders(endpointtest.Pair(nil, nil), "")) > 0 {
		t.Errorf("in the namespace: %v", found)
	}
}

// TestP9Otherwise: additions to the running pod that the destination does not make are reported. Additions by the
// application or the node are not.
func TestP9Otherwise(t *testing.T) {
	const there = `
metadata: {name: web-0, labels: {app: web}}
spec:
  containers: [{name: app, env: [{name: A, value: b}], volumeMounts: [{name: data, mountPath: /data}, {name: kube-api-access-b, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]
  volumes: [{name: data}, {name: kube-api-access-b}]
`
	const running = `
metadata:
  name: web-0
  labels: {app: web, mesh: "on", role: primary, topology.kubernetes.io/zone: a, statefulset.kubernetes.io/pod-name: web-0, controller-revision-hash: web-1}
  managedFields:
  - {manager: kube-controller-manager, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}, "f:mesh": {}}}, "f:spec": {"f:containers": {}}}}
  - {manager: patroni, operation: Update, fieldsV1: {"f:metadata": {"f:labels": {"f:role": {}}}}}
spec:
  initContainers: [{name: init-mesh}]
  containers:
  - {name: app, env: [{name: A, value: b}, {name: TOKEN, value: c}], volumeMounts: [{name: data, mountPath: /data}, {name: certs, mountPath: /certs}, {name: kube-api-access-a, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}
  - {name: proxy}
  volumes: [{name: data}, {name: certs}, {name: kube-api-access-a}]
`
	pod := func(text string) *corev1.Pod {
		var pod corev1.Pod
		if err := yaml.UnmarshalStrict([]byte(text), &pod); err != nil {
			t.Fatal(err)
		}
		return &pod
	}
	want := []string{"init container init-mesh", "env TOKEN of container app", "mount /certs of container app", "container proxy", "volume certs", "label mesh"}
	if diff := cmp.Diff(want, Lacks(pod(running), pod(there))); diff != "" {
		t.Error(diff)
	}
	if lacks := Lacks(pod(there), pod(running)); len(lacks) > 0 {
		t.Errorf("what is added there alone: %v", lacks)
	}
	reasons, text := shown(t, Otherwise(endpointtest.Pair(nil, nil), pod(running), pod(there), true))
	if len(reasons) != 1 || !strings.Contains(text, "container proxy") || !strings.Contains(text, "--show-labels") {
		t.Errorf("%v %s", reasons, text)
	}
	if _, text := shown(t, Otherwise(endpointtest.Pair(nil, nil), pod(running), pod(there), false)); !strings.Contains(text, "cannot be asked while it has no namespace") {
		t.Error(text)
	}
	if found := Otherwise(endpointtest.Pair(nil, nil), pod(there), pod(there), true); len(found) > 0 {
		t.Errorf("the same: %v", found)
	}
}
