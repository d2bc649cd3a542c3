package evacuate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/report/page"
)

func console(args ...string) *commandtest.Console {
	commands := func(c *command.Common) []*cobra.Command { return command.In(command.Moving, New(c)) }
	return commandtest.New(commands, append([]string{"evacuate"}, args...)...)
}

// TestUsage: wrong command lines are refused before a cluster is read.
func TestUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":                 {[]string{"web", "--to-context", "west"}, "takes no arguments"},
		"no destination":              {[]string{"-n", "shop"}, "no destination is given"},
		"a namespace and all":         {[]string{"-n", "shop", "-A", "--to-context", "west"}, "exclude each other"},
		"no namespace":                {[]string{"-n", "shop,Bank", "--to-context", "west"}, `no namespace can be called "Bank"`},
		"no selector":                 {[]string{"-n", "shop", "--to-context", "west", "-l", "a b"}, "--selector: "},
		"a number of ordinals":        {[]string{"-n", "shop", "--to-context", "west", "--count", "2"}, "--count is for a single move: all ordinals move"},
		"a kind":                      {[]string{"-n", "shop", "--to-context", "west", "--api-version", "apps/v1"}, "--api-version is for a single move"},
		"in place":                    {[]string{"-n", "shop", "--to-context", "west", "--in-place"}, "--in-place is for a single move: it changes volumes where they are"},
		"a limit below nothing":       {[]string{"-n", "shop", "--to-context", "west", "--handoffs", "-1"}, "a limit is below 0"},
		"no rate":                     {[]string{"-n", "shop", "--to-context", "west", "--copy-rate", "0"}, "--copy-rate must be"},
		"another method":              {[]string{"-n", "shop", "--to-context", "west", "--fallback", "empty"}, "--fallback must be snapshot or copy"},
		"a copy without an image":     {[]string{"-n", "shop", "--to-context", "west", "--fallback", "copy", "--copy-image", ""}, "--copy-image"},
		"a class that is no name":     {[]string{"-n", "shop", "--to-context", "west", "--map-storage-class", "standard=No_Name"}, "these settings make no valid Migration"},
		"no wave":                     {[]string{"-n", "shop", "--to-context", "west", "--wave", "web"}, "must be formatted as key=value"},
		"a wave below nothing":        {[]string{"-n", "shop", "--to-context", "west", "--wave", "web=-1"}, "--wave web=-1: a wave is a number from 0 to 1000"},
		"a wave that is too high":     {[]string{"-n", "shop", "--to-context", "west", "--wave", "web=1001"}, "a wave is a number from 0 to 1000"},
		"an empty namespace":          {[]string{"-n", "shop,,bank", "--to-context", "west"}, `no namespace can be called ""`},
		"a name of a StatefulSet":     {[]string{"-n", "shop", "--to-context", "west", "--to-name", "web"}, "unknown flag: --to-name"},
		"an unknown format of output": {[]string{"-n", "shop", "--to-context", "west", "-o", "csv"}, "must be one of table, wide, json, yaml, html, svg"},
	} {
		t.Run(name, func(t *testing.T) { console(tc.args...).Expect(t, command.ExitUsage, "", tc.want) })
	}
}

// TestDeclared: a wave and an independence are for one set, or for the sets of that name in all namespaces.
func TestDeclared(t *testing.T) {
	o := &options{waves: map[string]int{"web": 1, "shop/web": 2, "db": 0}, independent: []string{"shop/web", "db"}}
	for set, want := range map[evacuate.Name]string{
		{Namespace: "shop", Name: "web"}:  "2 false",
		{Namespace: "bank", Name: "web"}:  "1 true",
		{Namespace: "bank", Name: "db"}:   "0 false",
		{Namespace: "bank", Name: "none"}: "0 true",
	} {
		if got := fmt.Sprint(o.wave(set), " ", o.waits(set)); got != want {
			t.Errorf("%s: %s, want %s", set, got, want)
		}
	}
}

// TestTexts: the texts of environment, arguments and ConfigMaps, with their places.
func TestTexts(t *testing.T) {
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "wait", Command: []string{"sh", "-c"}, Args: []string{"until nc db 1"}}},
		Containers: []corev1.Container{{
			Name: "app", Env: []corev1.EnvVar{{Name: "DB_HOST", Value: "db"}},
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		}},
	}
	maps := map[evacuate.Name]*corev1.ConfigMap{
		{Namespace: "shop", Name: "settings"}: {ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"CACHE_HOST": "cache", "hosts.yaml": "user: x\nhost: db\n"}},
		{Namespace: "shop", Name: "other"}:    {Data: map[string]string{"HOST": "web"}},
	}
	want := []evacuate.Text{
		{Where: "an argument of container wait", Value: "sh"},
		{Where: "an argument of container wait", Value: "-c"},
		{Where: "an argument of container wait", Value: "until nc db 1"},
		{Where: "env DB_HOST of container app", Key: "db_host", Value: "db"},
		{Where: "key CACHE_HOST of ConfigMap settings", Key: "CACHE_HOST", Value: "cache"},
		{Where: "key hosts.yaml of ConfigMap settings", Value: "user: x\nhost: db\n"},
	}
	if diff := cmp.Diff(want, textsOf("shop", spec, nil, maps)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// set returns a set with volumes of one ordinal in each gibibyte.
func set(name string, ordinals int, method api.VolumeMethod) evacuate.Set {
	s := evacuate.Set{
		Name: evacuate.Name{Namespace: "shop", Name: name}, APIVersion: "apps/v1", Replicas: int32(ordinals), Budget: 1,
		Expected:  evacuate.Expected{Handoff: time.Minute, Down: 12 * time.Second, Measured: 3},
		Templates: []evacuate.Template{{Name: "data", Method: method, Class: "fast", Claims: ordinals, Bytes: int64(ordinals) << 30, Largest: 1 << 30}},
		Pod:       evacuate.Pod{Amounts: evacuate.Amounts{MilliCPU: 500, Memory: 1 << 28, Pods: 1}},
	}
	for i := range ordinals {
		s.Ordinals = append(s.Ordinals, evacuate.Ordinal{Ordinal: int32(ordinals - 1 - i)})
	}
	return s
}

// sample is the plan of four sets: web uses db, pg cannot move, and report uses pg.
func sample() document {
	web, report, pg := set("web", 2, api.MethodRebind), set("report", 1, api.MethodRebind), set("pg", 3, api.MethodRebind)
	db := evacuate.Name{Namespace: "shop", Name: "db"}
	web.Uses = []evacuate.Use{{Set: db, Service: db, Where: "env DB_HOST of container app"}}
	report.Uses = []evacuate.Use{{Set: pg.Name, Service: pg.Name, Where: "an argument of container app"}}
	pg.Obstacles = []plan.Finding{{Reason: api.ReasonOwnedByOperator, Object: "StatefulSet shop/pg in cluster east", Message: "an operator owns it", Remedy: "pause it: kubectl patch pg main"}}
	p := evacuate.Of(evacuate.Inventory{
		Sets:        []evacuate.Set{web, set("db", 1, api.MethodCopy), report, pg},
		Destination: evacuate.Destination{Nodes: []evacuate.Node{{Name: "a", Free: evacuate.Amounts{MilliCPU: 1000, Memory: 1 << 33, Pods: 10}}}},
	})
	return newDocument(p, "east", "west", []string{"quotas may not be listed"})
}

// TestTable: the page of the terminal.
func TestTable(t *testing.T) {
	c := console()
	o := &options{Common: command.NewCommon(c.Environment), output: command.NewChoice("table")}
	if err := o.show(sample()); err != nil {
		t.Fatal(err)
	}
	want := `From cluster east to west: 2 of 4 StatefulSets can move, with 3 ordinals and volumes of 3.0 GiB (1.0 GiB new), in about 3m00s.

NAMESPACE   STATEFULSET   REPLICAS   VOLUMES          SIZE      AFTER    BEGINS   ENDS     DOWN EACH
shop        db            1          data by Copy     1.0 GiB   <none>   +0s      +1m00s   12s
shop        web           2          data by Rebind   2.0 GiB   db       +1m00s   +3m00s   12s

          +0s                                                   +3m00s
shop/db   ----------------####
shop/web                      ----------------####----------------####
          - moves   # an ordinal is down

cannot move, OwnedByOperator, 1 StatefulSet: shop/pg
  an operator owns it
  what to do: pause it: kubectl patch pg main

held shop/report: it depends on shop/pg, which cannot move: an argument of container app names its Service shop/pg

NEEDED IN WEST          NEEDS   FREE   FITS
cpu                     1500m   1      no
memory                  768Mi   8Gi    yes
pods                    3       10     yes
claims                  3       ?      ?
storage of class fast   1Gi     ?      ?

no node for shop/web-0 at +2m48s: none of 1 nodes has room: they lack cpu
note: quotas may not be listed
`
	if diff := cmp.Diff(want, c.Stdout.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestForPrograms: the document has each fact that the table shows.
func TestForPrograms(t *testing.T) {
	c := console()
	o := &options{Common: command.NewCommon(c.Environment), output: command.NewChoice("json", "json")}
	if err := o.show(sample()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Summary      summary
		StatefulSets []struct {
			Namespace, Name          string
			BeginSeconds, EndSeconds float64
			After                    []struct{ Namespace, Name, Why string }
			Handoffs                 []struct{ Ordinal, DownSeconds, UpSeconds float64 }
		}
		Causes []struct {
			Reason       string
			StatefulSets []struct {
				Name    string
				Finding struct{ Message string }
			}
		}
		Held     []struct{ Name string }
		Unplaced []struct{ Name string }
		Rooms    []struct{ What, Needs string }
	}
	if err := json.Unmarshal(c.Stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := summary{StatefulSets: 4, Moving: 2, Refused: 1, Held: 1, Ordinals: 3, Bytes: 3 << 30, FilledBytes: 1 << 30, Seconds: 180}
	if got.Summary != want {
		t.Errorf("summary %+v, want %+v", got.Summary, want)
	}
	web := got.StatefulSets[1]
	if web.Name != "web" || web.Namespace != "shop" || web.BeginSeconds != 60 || len(web.After) != 1 || web.After[0].Name != "db" || len(web.Handoffs) != 2 || web.Handoffs[0].DownSeconds != 108 {
		t.Errorf("web: %+v", web)
	}
	if len(got.Causes) != 1 || got.Causes[0].StatefulSets[0].Finding.Message != "an operator owns it" || got.Held[0].Name != "report" || got.Unplaced[0].Name != "web" || got.Rooms[0].Needs != "1500m" {
		t.Errorf("%+v", got)
	}
}

// TestPicture: the page has the chart, and each set, cause and resource.
func TestPicture(t *testing.T) {
	html, err := page.HTML(sample().page())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"</svg>", "shop/web", "OwnedByOperator", "it depends on shop/pg", "storage of class fast", "quotas may not be listed", "shop/web, ordinal 0: down from"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(html), "what the budget asks for") {
		t.Error("the chart of many applications draws the available replicas of one")
	}
}
