package application

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/internal/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func check(t *testing.T, found []plan.Finding, reason, says, remedy string) {
	t.Helper()
	if says == "" {
		if len(found) > 0 {
			t.Errorf("found %+v", found)
		}
		return
	}
	if len(found) != 1 || found[0].Reason != reason || !found[0].Warning || !strings.Contains(found[0].Message, says) || !strings.Contains(found[0].Remedy, remedy) || found[0].Remedy == "" {
		t.Errorf("found %+v, want %q and %q", found, says, remedy)
	}
}

// TestHooks: a hook that takes its member out of the application is told, with the word; one that steps
// down, drains or sleeps is none.
func TestHooks(t *testing.T) {
	run := func(command ...string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}
	}
	script := []Text{{ConfigMap: "scripts", Key: "pre-stop.sh", Text: "#!/bin/sh\netcdctl member remove $ID\n"}, {ConfigMap: "scripts", Key: "start.sh", Text: "nodetool decommission"}}
	for name, tc := range map[string]struct {
		hook *corev1.LifecycleHandler
		says string
	}{
		"none":                    {nil, ""},
		"it sleeps":               {&corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}, ""},
		"it drains":               {run("nodetool", "drain"), ""},
		"it steps down":           {run("sh", "-c", "mongosh --eval 'rs.stepDown()'"), ""},
		"it waits for a release":  {run("sh", "-c", "while released; do sleep 1; done"), ""},
		"Cassandra":               {run("nodetool", "decommission"), `container app of StatefulSet shop/web says "decommission" (in its command)`},
		"etcd":                    {run("sh", "-c", "etcdctl member remove $ID"), `"member remove"`},
		"RabbitMQ":                {run("rabbitmqctl", "forget_cluster_node", "x"), `"forget_cluster_node"`},
		"MongoDB":                 {run("mongosh", "--eval", "rs.remove('x')"), `"rs.remove"`},
		"Redis":                   {run("redis-cli", "CLUSTER", "FORGET", "x"), `"CLUSTER FORGET"`},
		"Consul":                  {run("consul", "leave"), `"leave"`},
		"a path":                  {&corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v1/deregister"}}, `"deregister"`},
		"a script of a ConfigMap": {run("/scripts/pre-stop.sh"), "in pre-stop.sh of ConfigMap scripts"},
		"another script":          {run("/opt/stop.sh"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Lifecycle: &corev1.Lifecycle{PreStop: tc.hook}}, {Name: "proxy"}}}
			check(t, Hooks("StatefulSet shop/web", spec, script), api.ReasonHookMayDecommission, tc.says, "step down")
		})
	}
}

// TestAddresses: names of one cluster are told with those that lead to all; within a cluster only what
// changes is.
func TestAddresses(t *testing.T) {
	every := api.ServicesSpec{PerOrdinal: api.PerOrdinalExport}
	for name, tc := range map[string]struct {
		env, args, config string
		to                string // namespace of the same cluster; empty: another cluster
		asks              api.ServicesSpec
		says, remedy      string
	}{
		"none":                       {env: "shop.example.com", says: ""},
		"a peer":                     {env: "http://web-0.web.shop.svc.cluster.local:2380", says: "in env PEERS of container app: web-0.web.shop.svc.cluster.local; on the other side", remedy: "with spec.services.perOrdinal: Export ordinal N is web-N.shop.svc.clusterset.local"},
		"a peer that has a name":     {env: "web-0.web.shop.svc", asks: every, says: "web-0.web.shop.svc;", remedy: "ordinal N is web-N.shop.svc.clusterset.local, on whichever side"},
		"a service that is exported": {args: "--join=db.shop.svc.cluster.local", asks: api.ServicesSpec{Export: true}, says: "args of container app", remedy: "the Service is web.shop.svc.clusterset.local in both"},
		"what is filled in":          {args: "--name=$(POD_NAME).web.$(NS).svc.cluster.local", says: "$(POD_NAME).web.$(NS).svc.cluster.local", remedy: "clusterset"},
		"a short name":               {config: "peers: web-0.web:2380,web-1.web:2380", says: "peers.yaml of ConfigMap settings: web-0.web, web-1.web", remedy: "clusterset"},
		"another domain":             {env: "web.shop.svc.corp.internal", says: "web.shop.svc.corp.internal", remedy: "clusterset"},
		"a name of all clusters":     {env: "web-0.shop.svc.clusterset.local", says: ""},
		"a word that ends so":        {env: "my-app.svcs and x.svcfile", says: ""},
		"the same, in the cluster":   {env: "web-0.web.shop.svc.cluster.local", to: "shop", says: ""},
		"another namespace":          {env: "web-0.web.shop.svc.cluster.local", to: "store", says: "called after StatefulSet store/web", remedy: "metadata.namespace"},
		"another one's, still there": {env: "db.shop.svc.cluster.local", to: "store", says: ""},
	} {
		t.Run(name, func(t *testing.T) {
			sides := endpointtest.Pair(nil, nil)
			if tc.to != "" {
				sides.Destination.ID, sides.Destination.Namespace = sides.Source.ID, tc.to
			}
			set := &appsv1.StatefulSet{}
			set.Name, set.Spec.ServiceName = "web", "web"
			set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Args: []string{tc.args}, Env: []corev1.EnvVar{{Name: "PEERS", Value: tc.env}}}}
			texts := []Text{{ConfigMap: "settings", Key: "peers.yaml", Text: tc.config}}
			check(t, Addresses(sides, set, texts, tc.asks), api.ReasonNamesAreLocal, tc.says, tc.remedy)
		})
	}
}
