package dependencies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var way = Way{From: Place{Namespace: "shop", Set: "web"}, To: Place{Namespace: "team", Set: "site"}, Account: "app"}

// cleaned maps objects at the source to their copies at the destination.
var cleaned = map[string]struct{ from, to string }{
	"what belongs to one object": {
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop, uid: u, resourceVersion: "7", generation: 3, creationTimestamp: x, finalizers: [f], ownerReferences: [{uid: o}], managedFields: [{manager: m}], generateName: g,
		  labels: {app: web, argocd.argoproj.io/instance: shop, migration.sliceshift.io/created-by: m}, annotations: {note: keep, kubectl.kubernetes.io/last-applied-configuration: x, migration.sliceshift.io/origin: o, argocd.argoproj.io/tracking-id: z}}, data: {a: b}, binaryData: {c: ZA==}, immutable: true}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team, labels: {app: web}, annotations: {note: keep}}, data: {a: b}, binaryData: {c: ZA==}, immutable: true}`,
	},
	"a volume": {
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs, uid: u, labels: {app: web}, finalizers: [f], annotations: {note: keep, pv.kubernetes.io/bound-by-controller: "yes"}}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], persistentVolumeReclaimPolicy: Delete, storageClassName: fast, nfs: {server: a, path: /}, claimRef: {kind: PersistentVolumeClaim, namespace: shop, name: shared, uid: c, resourceVersion: "7"}}, status: {phase: Bound}}`,
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs, labels: {app: web}, annotations: {note: keep}}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], persistentVolumeReclaimPolicy: Retain, storageClassName: fast, nfs: {server: a, path: /}, claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: team, name: shared}}}`,
	},
	"a volume of another namespace": {
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs}, spec: {claimRef: {namespace: other, name: shared}}}`,
		`{apiVersion: v1, kind: PersistentVolume, metadata: {name: nfs}, spec: {persistentVolumeReclaimPolicy: Retain, claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: other, name: shared}}}`,
	},
	"a claim": {
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: shop, annotations: {pv.kubernetes.io/bind-completed: "yes", volume.kubernetes.io/selected-node: n}}, spec: {accessModes: [ReadWriteMany], volumeName: nfs, resources: {requests: {storage: 1Gi}}, dataSource: {kind: PersistentVolumeClaim, name: x}, dataSourceRef: {kind: PersistentVolumeClaim, name: x}}, status: {phase: Bound}}`,
		`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: shared, namespace: team}, spec: {accessModes: [ReadWriteMany], storageClassName: "", volumeName: nfs, resources: {requests: {storage: 1Gi}}}}`,
	},
	"a Secret": {
		`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}, type: kubernetes.io/tls, data: {tls.crt: YQ==, tls.key: Yg==, token: Yw==}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team}, type: kubernetes.io/tls, data: {tls.crt: YQ==, tls.key: Yg==, token: Yw==}}`,
	},
	"a token": {
		`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop, annotations: {kubernetes.io/service-account.name: app, kubernetes.io/service-account.uid: u}}, type: kubernetes.io/service-account-token, data: {token: YQ==, ca.crt: Yg==, namespace: Yw==}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: team, annotations: {kubernetes.io/service-account.name: app}}, type: kubernetes.io/service-account-token}`,
	},
	"a ServiceAccount": {
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: app, namespace: shop, annotations: {eks.amazonaws.com/role-arn: r}}, secrets: [{name: app-token-1}], imagePullSecrets: [{name: pull}, {name: app-dockercfg-7}], automountServiceAccountToken: false}`,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: app, namespace: team, annotations: {eks.amazonaws.com/role-arn: r}}, imagePullSecrets: [{name: pull}], automountServiceAccountToken: false}`,
	},
	"a ServiceAccount with what a cluster has made": {
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: app, namespace: shop}, imagePullSecrets: [{name: app-dockercfg-7}]}`,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: app, namespace: team}}`,
	},
	"a RoleBinding of others, too": {
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: User, name: jane}, {kind: Group, name: "system:serviceaccounts:shop"}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: team}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: app, namespace: team}]}`,
	},
	"a RoleBinding of others alone": {
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop}, roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: jane}]}`,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: team}, roleRef: {kind: Role, name: r}}`,
	},
	"a Service that is open to the outside": {
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop, annotations: {external-dns.alpha.kubernetes.io/hostname: shop.example}}, spec: {type: LoadBalancer, clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, externalIPs: [1.2.3.4], externalTrafficPolicy: Local, healthCheckNodePort: 30001, loadBalancerIP: 5.6.7.8, loadBalancerClass: c, loadBalancerSourceRanges: [0.0.0.0/0], allocateLoadBalancerNodePorts: true,
		  internalTrafficPolicy: Cluster, sessionAffinity: None, selector: {app: web, statefulset.kubernetes.io/pod-name: web-3}, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30000, protocol: TCP}]}, status: {loadBalancer: {ingress: [{ip: 5.6.7.8}]}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: team}, spec: {internalTrafficPolicy: Cluster, sessionAffinity: None, selector: {app: web, statefulset.kubernetes.io/pod-name: site-3}, ports: [{name: http, port: 80, targetPort: 8080, protocol: TCP}]}}`,
	},
	"a headless Service": {
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}, spec: {type: ClusterIP, clusterIP: None, clusterIPs: [None], publishNotReadyAddresses: true, selector: {statefulset.kubernetes.io/pod-name: other-3}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: team}, spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {statefulset.kubernetes.io/pod-name: other-3}}}`,
	},
	"a NetworkPolicy": {
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a, namespace: shop, uid: u}, spec: {podSelector: {}, policyTypes: [Ingress]}}`,
		`{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: a, namespace: team}, spec: {podSelector: {}, policyTypes: [Ingress]}}`,
	},
}

// TestClean: fields that belong to one object or one cluster are not copied. The input is not changed, and
// cleaning twice has no further effect.
func TestClean(t *testing.T) {
	for name, tc := range cleaned {
		t.Run(name, func(t *testing.T) {
			from := read(t, tc.from)
			got := Clean(from, way)
			if diff := cmp.Diff(read(t, tc.to).Object, got.Object); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(read(t, tc.from).Object, from.Object); diff != "" {
				t.Errorf("the original was changed:\n%s", diff)
			}
			if diff := cmp.Diff(got.Object, Clean(got, way.Home()).Object); diff != "" {
				t.Errorf("cleaned again:\n%s", diff)
			}
		})
	}
}

// TestMark: a written mark is parsed again, and no other value is taken for a mark.
func TestMark(t *testing.T) {
	mark := Mark{Cluster: "c", Namespace: "shop", Name: "a.b", UID: "u", Hash: "0a", PutBack: 2}
	if diff := cmp.Diff(&mark, ParseMark(mark.String())); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "c/shop/a u 0a", "c/shop/a u 0a x", "c/shop/a u 0a -1", "shop/a u 0a 1", "c/shop/a u 0a 1 2"} {
		if got := ParseMark(text); got != nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
	var none *Mark
	if !mark.Of("c", "shop", "a.b") || mark.Of("d", "shop", "a.b") || mark.Of("c", "team", "a.b") || mark.Of("c", "shop", "a") || none.Of("", "", "") {
		t.Error("what it is a copy of is not told")
	}
}
