package dependencies

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// TestHash: metadata is not content, except for the annotations of a ServiceAccount.
func TestHash(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		same bool
	}{
		"labels":                    {`{kind: ConfigMap, metadata: {name: a}, data: {a: b}}`, `{kind: ConfigMap, metadata: {name: b, labels: {c: d}, annotations: {e: f}}, data: {a: b}}`, true},
		"data":                      {`{kind: ConfigMap, data: {a: b}}`, `{kind: ConfigMap, data: {a: c}}`, false},
		"empty data":                {`{kind: ConfigMap, data: {}}`, `{kind: ConfigMap}`, true},
		"empty list":                {`{kind: Role, rules: []}`, `{kind: Role, rules: null}`, true},
		"false is a value":          {`{kind: ServiceAccount, automountServiceAccountToken: false}`, `{kind: ServiceAccount}`, false},
		"annotations of an account": {`{kind: ServiceAccount, metadata: {annotations: {a: b}}}`, `{kind: ServiceAccount}`, false},
		"annotations of a Service":  {`{kind: Service, metadata: {annotations: {a: b}}}`, `{kind: Service}`, true},
		"the size of a claim":       {`{kind: PersistentVolumeClaim, spec: {volumeName: a, resources: {requests: {storage: 1Gi}}}}`, `{kind: PersistentVolumeClaim, spec: {volumeName: a, resources: {requests: {storage: 2Gi}}}}`, true},
		"the size of a volume":      {`{kind: PersistentVolume, spec: {nfs: {path: a}, capacity: {storage: 1Gi}}}`, `{kind: PersistentVolume, spec: {nfs: {path: a}}}`, true},
		"the storage of a volume":   {`{kind: PersistentVolume, spec: {nfs: {path: a}}}`, `{kind: PersistentVolume, spec: {nfs: {path: b}}}`, false},
		"the type of a Secret":      {`{kind: Secret, type: Opaque}`, `{kind: Secret, type: kubernetes.io/tls}`, false},
	} {
		if got := Hash(read(t, tc.a)) == Hash(read(t, tc.b)); got != tc.same {
			t.Errorf("%s: the same %t", name, got)
		}
	}
}

// TestDifference: the text has a minus before the current value and a plus before the wanted one.
func TestDifference(t *testing.T) {
	many := `{kind: ConfigMap, data: {a: "", b: "", c: "", d: "", e: "", f: "", g: "", h: "", i: "", j: ""}}`
	for want, tc := range map[string][2]string{
		"": {`{kind: ConfigMap, data: {a: b}}`, `{kind: ConfigMap, data: {a: b}}`},
		`data.a: -"b" +"c"; data.d: +"e"; data.f: -"g"`:           {`{kind: ConfigMap, data: {a: b, f: g}}`, `{kind: ConfigMap, data: {a: c, d: e}}`},
		"data.a: -(not shown) +(not shown); data.b: +(not shown)": {`{kind: Secret, data: {a: b}}`, `{kind: Secret, data: {a: c, b: d}}`},
		`rules[0].verbs[1]: -"list"`:                              {`{kind: Role, rules: [{verbs: [get, list]}]}`, `{kind: Role, rules: [{verbs: [get]}]}`},
		`data.a: +"` + strings.Repeat("ä", 59) + "...":            {`{kind: ConfigMap}`, `{kind: ConfigMap, data: {a: ` + strings.Repeat("ä", 99) + `}}`},
		`data.a: +""; data.b: +""; data.c: +""; data.d: +""; data.e: +""; data.f: +""; data.g: +""; data.h: +""; and 2 more`: {`{kind: ConfigMap}`, many},
	} {
		if got := Difference(read(t, tc[0]), read(t, tc[1])); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSecretsAreNotShown: for any contents, no value of a Secret is shown.
func TestSecretsAreNotShown(t *testing.T) {
	value := rapid.StringMatching(`[a-z]{12,20}`)
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOfN(rapid.StringMatching(`[A-Z]{1,3}`), value, 1, 5)
		now, wanted := values.Draw(t, "now"), values.Draw(t, "wanted")
		text := Difference(secretOf(now), secretOf(wanted))
		for _, all := range []map[string]string{now, wanted} {
			for _, value := range all {
				if strings.Contains(text, value) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(value))) {
					t.Fatalf("it shows %s: %s", value, text)
				}
			}
		}
		if (text == "") != maps.Equal(now, wanted) {
			t.Fatalf("%v and %v: %q", now, wanted, text)
		}
	})
}

func secretOf(values map[string]string) *unstructured.Unstructured {
	data := map[string]any{}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return &unstructured.Unstructured{Object: map[string]any{"kind": Secret, "type": "Opaque", "data": data}}
}

// TestRigid: an object that the API server does not allow to be updated must be recreated.
func TestRigid(t *testing.T) {
	for name, tc := range map[string]struct {
		now, wanted string
		want        bool
	}{
		"immutable":           {`{kind: ConfigMap, immutable: true, data: {a: b}}`, `{kind: ConfigMap, immutable: true, data: {a: c}}`, true},
		"to become immutable": {`{kind: ConfigMap, data: {a: b}}`, `{kind: ConfigMap, immutable: true, data: {a: c}}`, false},
		"another type":        {`{kind: Secret, type: Opaque}`, `{kind: Secret, type: kubernetes.io/tls}`, true},
		"the same type":       {`{kind: Secret, type: Opaque, data: {a: b}}`, `{kind: Secret, type: Opaque}`, false},
		"another role":        {`{kind: RoleBinding, roleRef: {kind: Role, name: a}}`, `{kind: RoleBinding, roleRef: {kind: Role, name: b}}`, true},
		"other subjects":      {`{kind: RoleBinding, roleRef: {kind: Role, name: a}}`, `{kind: RoleBinding, roleRef: {kind: Role, name: a}, subjects: [{kind: User}]}`, false},
		"a claim":             {`{kind: PersistentVolumeClaim}`, `{kind: PersistentVolumeClaim}`, true},
		"a volume":            {`{kind: PersistentVolume}`, `{kind: PersistentVolume}`, true},
		"devices":             {`{kind: ResourceClaimTemplate}`, `{kind: ResourceClaimTemplate}`, true},
		"headless":            {`{kind: Service, spec: {clusterIP: 10.0.0.1}}`, `{kind: Service, spec: {clusterIP: None}}`, true},
		"with an address":     {`{kind: Service, spec: {clusterIP: 10.0.0.1}}`, `{kind: Service, spec: {}}`, false},
		"a policy":            {`{kind: NetworkPolicy, spec: {podSelector: {}}}`, `{kind: NetworkPolicy, spec: {}}`, false},
	} {
		if got := Rigid(read(t, tc.now), read(t, tc.wanted)); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMerge: the content becomes that of the original. Fields that a cluster has assigned and rights of other
// subjects remain.
func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct{ now, wanted, want string }{
		"data": {
			`{kind: ConfigMap, metadata: {name: a, uid: u, labels: {x: z}}, data: {a: b, c: d}, binaryData: {e: f}}`,
			`{kind: ConfigMap, metadata: {name: a, labels: {app: web}}, data: {a: z}}`,
			`{kind: ConfigMap, metadata: {name: a, uid: u, labels: {x: z, app: web}}, data: {a: z}, binaryData: {}}`,
		},
		"a token": {
			`{kind: Secret, metadata: {name: a, annotations: {kubernetes.io/service-account.uid: u}}, type: kubernetes.io/service-account-token, data: {token: t, extra: x}}`,
			`{kind: Secret, metadata: {name: a}, type: kubernetes.io/service-account-token, data: {more: yy}}`,
			`{kind: Secret, metadata: {name: a, annotations: {kubernetes.io/service-account.uid: u}}, type: kubernetes.io/service-account-token, data: {token: t, more: yy}}`,
		},
		"a Service": {
			`{kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1, selector: {app: old}, sessionAffinity: None, ports: [{port: 80, nodePort: 30000}]}, status: {loadBalancer: {}}}`,
			`{kind: Service, metadata: {name: a}, spec: {selector: {app: web}, ports: [{port: 81}]}}`,
			`{kind: Service, metadata: {name: a}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1, selector: {app: web}, ports: [{port: 81}]}, status: {loadBalancer: {}}}`,
		},
		"rights": {
			`{kind: RoleBinding, metadata: {name: a, namespace: team}, roleRef: {name: r}, subjects: [{kind: User, name: jane}]}`,
			`{kind: RoleBinding, metadata: {name: a}, roleRef: {name: r}, subjects: [{kind: ServiceAccount, name: app, namespace: team}]}`,
			`{kind: RoleBinding, metadata: {name: a, namespace: team}, roleRef: {name: r}, subjects: [{kind: User, name: jane}, {kind: ServiceAccount, name: app, namespace: team}]}`,
		},
		"an account": {
			`{kind: ServiceAccount, metadata: {name: app, annotations: {old: a, migration.sliceshift.io/origin: o}}, secrets: [{name: t}], imagePullSecrets: [{name: p}]}`,
			`{kind: ServiceAccount, metadata: {name: app, annotations: {role: b}}, automountServiceAccountToken: false}`,
			`{kind: ServiceAccount, metadata: {name: app, annotations: {role: b, migration.sliceshift.io/origin: o}}, secrets: [{name: t}], automountServiceAccountToken: false}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			now := read(t, tc.now)
			got := Merge(now, read(t, tc.wanted), way)
			if diff := cmp.Diff(read(t, tc.want).Object, got.Object); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(read(t, tc.now).Object, now.Object); diff != "" {
				t.Errorf("what is there was changed:\n%s", diff)
			}
		})
	}
}

// TestMergedIsTheSame: for any objects, nothing differs after a merge.
func TestMergedIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{ConfigMap, Secret, ServiceAccount, RoleBinding, Service}).Draw(t, "kind")
		from, now := anObject(t, name, "shop"), anObject(t, name, "team")
		wanted := Clean(from, way)
		if Rigid(now, wanted) {
			return
		}
		merged := Merge(now, wanted, way)
		home := Clean(merged, way.Home())
		if Hash(home) != Hash(wanted) || Difference(home, wanted) != "" {
			t.Fatalf("%v merged into %v is %v: %s", wanted.Object, now.Object, merged.Object, Difference(home, wanted))
		}
	})
}

// anObject returns an arbitrary object of a kind in a namespace.
func anObject(t *rapid.T, kind, namespace string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": "a", "namespace": namespace}}}
	pick := func(of ...any) any { return rapid.SampledFrom(of).Draw(t, "value") }
	set := func(path string, values ...any) {
		if value := pick(append(values, nil)...); value != nil {
			_ = unstructured.SetNestedField(object.Object, value, strings.Split(path, ".")...)
		}
	}
	set("metadata.annotations.note", "a", "b")
	set("metadata.annotations."+"eks", "a", "b")
	switch kind {
	case ConfigMap, Secret:
		set("data.token", "a", "b")
		set("data.other", "a", "b")
		set("binaryData.x", "a")
		if kind == Secret {
			set("type", "Opaque", "kubernetes.io/service-account-token")
		}
	case ServiceAccount:
		set("secrets", []any{map[string]any{"name": "t"}})
		set("imagePullSecrets", []any{map[string]any{"name": "p"}}, []any{map[string]any{"name": "a-dockercfg-1"}})
		set("automountServiceAccountToken", true, false)
	case RoleBinding:
		set("roleRef.name", "r")
		var subjects []any
		for _, subject := range []map[string]any{
			{"kind": "User", "name": "jane"}, {"kind": "ServiceAccount", "name": "app", "namespace": namespace}, {"kind": "Group", "name": "system:serviceaccounts:" + namespace},
		} {
			if pick(true, false) == true {
				subjects = append(subjects, subject)
			}
		}
		object.Object["subjects"] = subjects
	case Service:
		set("spec.type", "ClusterIP", "NodePort")
		set("spec.clusterIP", "10.0.0.1", "None")
		set("spec.selector.app", "web", "old")
		set("spec.selector.statefulset%", "x")
		set("spec.ports", []any{map[string]any{"port": int64(80), "nodePort": int64(30000)}}, []any{map[string]any{"port": int64(81)}})
	}
	return object
}
