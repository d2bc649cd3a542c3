package evacuate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUses: which texts name a Service of another set.
func TestUses(t *testing.T) {
	services := Services{
		named("db"): {named("db")}, named("db-read"): {named("db")}, named("web"): {named("web")}, named("no-pods"): nil,
		{Namespace: "infra", Name: "kafka"}: {{Namespace: "infra", Name: "broker"}},
	}
	kafka := Name{Namespace: "infra", Name: "broker"}
	for name, tc := range map[string]struct {
		text Text
		want []Name
	}{
		"the full name":                  {Text{Value: "--at=db.shop.svc.cluster.local"}, []Name{named("db")}},
		"the name of a set of clusters":  {Text{Value: "db.shop.svc.clusterset.local"}, []Name{named("db")}},
		"with the namespace":             {Text{Value: "wait for kafka.infra please"}, []Name{kafka}},
		"a pod, with the namespace":      {Text{Value: "broker-0.kafka.infra:9092,broker-1.kafka.infra:9092"}, []Name{kafka}},
		"a pod of the same namespace":    {Text{Value: "db-0.db"}, []Name{named("db")}},
		"another prefix":                 {Text{Value: "my.db"}, nil},
		"in capitals":                    {Text{Value: "DB.Shop"}, []Name{named("db")}},
		"alone, before a port":           {Text{Value: "listen db:5432"}, []Name{named("db")}},
		"alone, before another colon":    {Text{Value: "db: main"}, nil},
		"alone, in a URL":                {Text{Value: "postgres://db/shop"}, []Name{named("db")}},
		"alone, behind a user":           {Text{Value: "postgres://shop@db/shop"}, []Name{named("db")}},
		"alone, as a host":               {Text{Key: "DB_HOST", Value: "db-read"}, []Name{named("db")}},
		"alone, in a list of hosts":      {Text{Value: "--peers=x,db,y"}, []Name{named("db")}},
		"alone, in a line of a file":     {Text{Value: "user: db\nhost: db\n"}, []Name{named("db")}},
		"alone, as a user":               {Text{Key: "POSTGRES_USER", Value: "db"}, nil},
		"a part of a word":               {Text{Key: "DB_HOST", Value: "db-standby"}, nil},
		"itself":                         {Text{Key: "OWN_HOST", Value: "web"}, nil},
		"a name of the other namespace":  {Text{Key: "KAFKA_HOST", Value: "kafka"}, nil},
		"another name with so many dots": {Text{Value: "db.shop.example.com"}, nil},
		"a Service without sets":         {Text{Value: "no-pods:80"}, nil},
		"nothing":                        {Text{Value: "..:-"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Name
			for _, use := range Uses(named("web"), []Text{tc.text, tc.text}, services) {
				got = append(got, use.Set)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	got := Uses(named("web"), []Text{{Where: "env A", Value: "db-read:1"}}, services)
	if want := []Use{{named("db"), named("db-read"), "env A"}}; !cmp.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
