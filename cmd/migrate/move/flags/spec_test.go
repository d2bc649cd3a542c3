package flags

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// defaultSpec returns the spec without any flag.
func defaultSpec() api.MigrationSpec {
	return api.MigrationSpec{
		Source:      api.SourceReference{Name: "web", APIVersion: "apps/v1"},
		Destination: api.DestinationReference{Namespace: "store", Name: "web2"},
		Ordinals:    api.OrdinalsSpec{Order: api.HighestFirst},
		Mode:        api.ModeRun,
		Handoff:     api.HandoffSpec{MinReadySeconds: ptr.To[int32](0), ProgressDeadlineSeconds: ptr.To[int32](600)},
		Cleanup:     api.CleanupSpec{Source: api.CleanupRetain},
	}
}

func parseSpec(args ...string) (api.MigrationSpec, error) {
	var f Spec
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(flags)
	if err := flags.Parse(args); err != nil {
		return api.MigrationSpec{}, err
	}
	return f.Spec("web", Destination{Namespace: "store", Name: "web2"})
}

func utc(year int, month time.Month, day, hour int) *metav1.Time {
	return new(metav1.NewTime(time.Date(year, month, day, hour, 0, 0, 0, time.UTC)))
}

func TestSpecFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want func(*api.MigrationSpec)
	}{
		"none":              {nil, func(*api.MigrationSpec) {}},
		"order":             {[]string{"--order", "Lowest-First"}, func(s *api.MigrationSpec) { s.Ordinals.Order = api.LowestFirst }},
		"count":             {[]string{"--count", "3"}, func(s *api.MigrationSpec) { s.Ordinals.Count = ptr.To[int32](3) }},
		"budget":            {[]string{"--max-unavailable", "2"}, func(s *api.MigrationSpec) { s.MaxUnavailable = new(intstr.FromInt32(2)) }},
		"budget, percent":   {[]string{"--max-unavailable=10%"}, func(s *api.MigrationSpec) { s.MaxUnavailable = new(intstr.FromString("10%")) }},
		"at once":           {[]string{"--max-in-flight", "3"}, func(s *api.MigrationSpec) { s.Handoff.MaxInFlight = new(intstr.FromInt32(3)) }},
		"at once, percent":  {[]string{"--max-in-flight=10%"}, func(s *api.MigrationSpec) { s.Handoff.MaxInFlight = new(intstr.FromString("10%")) }},
		"min-ready":         {[]string{"--min-ready", "1m"}, func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = ptr.To[int32](60) }},
		"min-ready, up":     {[]string{"--min-ready", "1200ms"}, func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = ptr.To[int32](2) }},
		"deadline":          {[]string{"--deadline", "2h"}, func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = ptr.To[int32](7200) }},
		"names of ordinals": {[]string{"--export-ordinals"}, func(s *api.MigrationSpec) { s.Services.PerOrdinal = api.PerOrdinalExport }},
		"exports":           {[]string{"--export-services"}, func(s *api.MigrationSpec) { s.Services.Export = true }},
		"create namespace":  {[]string{"--create-namespace"}, func(s *api.MigrationSpec) { s.Destination.CreateNamespace = true }},
		"cleanup":           {[]string{"--cleanup", "delete"}, func(s *api.MigrationSpec) { s.Cleanup.Source = api.CleanupDelete }},
		"dependencies":      {[]string{"--copy-dependencies"}, func(s *api.MigrationSpec) { s.Dependencies.Mode = api.DependenciesCopy }},
		"no dependencies":   {[]string{"--copy-dependencies=false"}, func(s *api.MigrationSpec) { s.Dependencies.Mode = api.DependenciesCheck }},
		"policies of copies": {[]string{"--copy-dependencies", "--on-conflict=overwrite", "--on-change=stall", "--selects-others=leave", "--cleanup-copies=delete"}, func(s *api.MigrationSpec) {
			s.Dependencies = api.DependenciesSpec{
				Mode: api.DependenciesCopy, OnConflict: api.ConflictOverwrite, OnChange: api.ChangeStall, SelectsOthers: api.SelectsOthersLeave, Cleanup: api.CleanupDelete,
			}
		}},
		"schedule": {[]string{"--window", "sat,Sun 22:00/4h", "--window", "*/30 1 * * 1-5/20m", "--window=12:30/90m", "--time-zone", "Europe/Berlin", "--not-before", "2026-11-28 22:00", "--not-after", "2026-12-28T22:00:00Z", "--expected-handoff", "90s"}, func(s *api.MigrationSpec) {
			s.Schedule = &api.ScheduleSpec{
				TimeZone: "Europe/Berlin", NotBefore: utc(2026, 11, 28, 21), NotAfter: utc(2026, 12, 28, 22), ExpectedHandoffSeconds: ptr.To[int32](90),
				Windows: []api.Window{
					{Days: []api.Weekday{"Sat", "Sun"}, From: "22:00", Duration: metav1.Duration{Duration: 4 * time.Hour}},
					{Start: "*/30 1 * * 1-5", Duration: metav1.Duration{Duration: 20 * time.Minute}},
					{From: "12:30", Duration: metav1.Duration{Duration: 90 * time.Minute}},
				},
			}
		}},
		"pauses":             {[]string{"--pause-writers"}, func(s *api.MigrationSpec) { s.Writers.Pause = true }},
		"windows taken back": {[]string{"--window", ""}, func(s *api.MigrationSpec) { s.Schedule = &api.ScheduleSpec{} }},
		"storage classes": {[]string{"--storage-class", "wal=slow", "--storage-class", "data=fast"}, func(s *api.MigrationSpec) {
			s.Volumes = []api.VolumeSpec{
				{ClaimTemplate: "data", Method: api.MethodRebind, StorageClassName: new("fast")},
				{ClaimTemplate: "wal", Method: api.MethodRebind, StorageClassName: new("slow")},
			}
		}},
		"access modes": {[]string{"--access-modes", "data=ReadWriteOnce+ReadOnlyMany", "--volume", "data=copy,image=mover"}, func(s *api.MigrationSpec) {
			s.Volumes = []api.VolumeSpec{{
				ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mover"},
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadOnlyMany},
			}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := defaultSpec()
			tc.want(&want)
			got, err := parseSpec(tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) })); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpecFlagsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"modes of nothing":    {[]string{"--access-modes", "data="}, "TEMPLATE=MODE"},
		"order":               {[]string{"--order", "random"}, "highest-first"},
		"no count":            {[]string{"--count", "0"}, "at least 1"},
		"count of words":      {[]string{"--count", "all"}, "invalid"},
		"no budget":           {[]string{"--max-unavailable", "0"}, "at least 1"},
		"budget of 0%":        {[]string{"--max-unavailable", "0%"}, "1% to 100%"},
		"budget of words":     {[]string{"--max-unavailable", "some"}, "1% to 100%"},
		"negative min-ready":  {[]string{"--min-ready", "-1s"}, "from 0s"},
		"min-ready of days":   {[]string{"--min-ready", "48h"}, "to 24h0m0s"},
		"no deadline":         {[]string{"--deadline", "0"}, "from 1s"},
		"cleanup":             {[]string{"--cleanup", "all"}, "retain, delete"},
		"window of no time":   {[]string{"--window", "22:00"}, "START/DURATION"},
		"window of words":     {[]string{"--window", "22:00/long"}, "START/DURATION"},
		"half a cron":         {[]string{"--window", "22 */4h"}, "windows[0]"},
		"window of seconds":   {[]string{"--window", "22:00/5s"}, "from 1m0s"},
		"no such day":         {[]string{"--window", "Sat,Someday 22:00/4h"}, `"Someday" is not a day: it is one of Mon`},
		"zone":                {[]string{"--time-zone", "Atlantis"}, "Europe/Berlin"},
		"not before words":    {[]string{"--not-before", "tomorrow"}, "not-before"},
		"not after words":     {[]string{"--not-after", "some day"}, "not-after"},
		"no time at all":      {[]string{"--expected-handoff", "0s"}, "from 1s"},
		"half a class":        {[]string{"--storage-class", "data="}, "TEMPLATE=CLASS"},
		"class of what":       {[]string{"--storage-class", "=fast"}, "TEMPLATE=CLASS"},
		"conflicts":           {[]string{"--copy-dependencies", "--on-conflict", "merge"}, "stall, keep, overwrite"},
		"change of no copy":   {[]string{"--copy-dependencies=false", "--on-change", "stall"}, "copy-dependencies"},
		"class without equal": {[]string{"--storage-class", "fast"}, "storage-class"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseSpec(tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestP1ProbeFlags: --probe accepts a URL, or a Prometheus with its queries.
func TestP1ProbeFlags(t *testing.T) {
	requests, failed := "requests=sum(increase(r{code=\"a,b\"}[${since}]))", "failed=f"
	for name, tc := range map[string]struct {
		flags probeFlags
		want  *api.ProbeSpec
		says  string
	}{
		"none":            {probeFlags{}, nil, ""},
		"a URL":           {probeFlags{target: "https://shop"}, &api.ProbeSpec{URL: "https://shop"}, ""},
		"a Prometheus":    {probeFlags{"prom=https://p", []string{requests, failed}}, &api.ProbeSpec{Prometheus: &api.PrometheusProbe{PrometheusServer: api.PrometheusServer{Address: "https://p"}, Requests: requests[9:], Failed: "f"}}, ""},
		"no queries":      {probeFlags{"prom=https://p", nil}, nil, "needs two queries"},
		"queries alone":   {probeFlags{"", []string{failed}}, nil, "name it with --probe prom=URL"},
		"another":         {probeFlags{"prom=https://p", []string{"errors=x"}}, nil, `and no "errors"`},
		"twice":           {probeFlags{"prom=https://p", []string{failed, failed}}, nil, "needs one query"},
		"queries for URL": {probeFlags{"https://shop", []string{failed}}, nil, "name it with --probe prom=URL"},
	} {
		got, err := tc.flags.spec()
		if !cmp.Equal(got, tc.want) || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
