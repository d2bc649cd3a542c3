package application

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
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

// TestHooks: a hook that removes its member from the application is reported with the command; a hook that steps
// down, drains or sleeps is not.
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
		"Cassandra":               {run("nodetool", "decommission"), `container app of StatefulSet shop/web contains "decommission" (in its command)`},
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

// TestAddresses: names of one cluster are reported with those that resolve to all. Within a cluster only names that
// change are reported.
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

// TestP7ShortNames: a Service that the pods call by a short name, and that the destination's namespace lacks, is
// reported; a word that is no host is not.
func TestP7ShortNames(t *testing.T) {
	service := func(name string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	here := []corev1.Service{service("zookeeper"), service("web"), service("shop"), service("kafka-0")}
	for name, tc := range map[string]struct {
		env, value string
		args       string
		config     string
		there      []corev1.Service
		says       string
	}{
		"none":                       {},
		"with a port":                {env: "ZK", value: "zookeeper:2181", says: "in env ZK of container app: zookeeper;"},
		"one of a list":              {env: "ZK", value: "a.example.com:2181,zookeeper:2181/chroot", says: "zookeeper;"},
		"it is there":                {env: "ZK", value: "zookeeper:2181", there: []corev1.Service{service("zookeeper")}},
		"with its namespace":         {env: "A", value: "zookeeper.shop", says: "zookeeper.shop;"},
		"of another namespace":       {env: "A", value: "zookeeper.store:2181"},
		"of a scheme":                {args: "--url http://zookeeper/status", says: "in args of container app: zookeeper;"},
		"with a user":                {args: "amqp://u:p@zookeeper:5672/v", says: "zookeeper;"},
		"a host alone":               {env: "ZOOKEEPER_HOST", value: "zookeeper", says: "zookeeper;"},
		"a word that is no host":     {env: "POSTGRES_DB", value: "shop"},
		"a word with a port's colon": {env: "TIME", value: "shop:5"},
		"a longer name":              {env: "ZK", value: "my-zookeeper:2181"},
		"a name in a domain":         {env: "ZK", value: "zookeeper.example.com:2181"},
		"settings":                   {config: "zookeeper.servers=zookeeper\nlog=shop", says: "settings.properties of ConfigMap settings: zookeeper;"},
		"settings in YAML":           {config: "broker:\n  host: kafka-0\n", says: "kafka-0;"},
		"an image":                   {config: "image: zookeeper:latest"},
		"its own Service is made":    {env: "PEER", value: "web:2380"},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{}
			set.Name, set.Spec.ServiceName = "web", "web"
			set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Args: []string{tc.args}, Env: []corev1.EnvVar{{Name: tc.env, Value: tc.value}}}}
			texts := []Text{{ConfigMap: "settings", Key: "settings.properties", Text: tc.config}}
			remedy := ""
			if tc.says != "" {
				remedy = "create a Service of that name there"
			}
			sides := endpointtest.Pair(nil, nil)
			check(t, ShortNames(sides, set, texts, Around{here, tc.there}, false), api.ReasonNamesAreLocal, tc.says, remedy)
			sides.Destination.ID = sides.Source.ID
			if found := ShortNames(sides, set, texts, Around{here, nil}, false); len(found) > 0 {
				t.Errorf("in the namespace: %v", found)
			}
		})
	}
}

// TestP7Entrances: Services that select the pods, by any label, must exist at the destination; node ports are not
// copied.
func TestP7Entrances(t *testing.T) {
	service := func(name, label, value string, port int32) corev1.Service {
		s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}}
		s.Spec.Selector, s.Spec.Ports = map[string]string{label: value}, []corev1.ServicePort{{Port: 80, NodePort: port}}
		return s
	}
	set := &appsv1.StatefulSet{}
	set.Name, set.Spec.ServiceName, set.Spec.Template.Labels = "web", "web", map[string]string{"app": "web"}
	here := []corev1.Service{service("web", "app", "web", 0), service("client", "app", "web", 0), service("web-0", appsv1.StatefulSetPodNameLabel, "web-0", 0), service("db", "app", "db", 30007)}
	sides := endpointtest.Pair(nil, nil)
	check(t, Entrances(sides, set, Around{Here: here}, false), api.ReasonNamesAreLocal, "Services client, web-0 select the pods", "--copy-dependencies")
	check(t, Entrances(sides, set, Around{Here: here}, true), "", "", "")
	check(t, Entrances(sides, set, Around{here, here}, false), "", "", "")
	here[1].Spec.Ports[0].NodePort = 30080
	check(t, Entrances(sides, set, Around{here, here}, true), api.ReasonNamesAreLocal, "client 30080", "is not copied")
}
