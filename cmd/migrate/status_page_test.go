package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func TestStatusText(t *testing.T) {
	unbegun := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	unbegun.Spec.Source.Name, unbegun.Spec.Destination.Namespace = "web", "store"
	for name, tc := range map[string]struct {
		m       *api.Migration
		record  string
		paint   painter
		unicode bool
	}{
		"status.txt":           {m: onItsWay(), record: "ConfigMap shop/sliceshift-web", unicode: true},
		"status_stalled.txt":   {m: stalledMigration(), paint: painter{on: true}, unicode: true},
		"status_completed.txt": {m: completedMigration()},
		"status_unbegun.txt":   {m: unbegun},
	} {
		t.Run(name, func(t *testing.T) {
			g := page{now: noon, paint: tc.paint, unicode: tc.unicode}
			golden(t, name, g.show(tc.m, "east", tc.record))
		})
	}
}

func TestChangeText(t *testing.T) {
	paused := moving(1, 4)
	paused.Spec.Mode = api.ModePause
	for name, tc := range map[string]struct {
		m    *api.Migration
		want string
	}{
		"on its way": {onItsWay(), "1/4 moved  ordinal 2 AwaitReadiness  waiting until pod shop/web-2 in cluster west is Ready"},
		"stalled":    {stalledMigration(), "1/4 moved  ordinal 2 AwaitReadiness  STALLED PodNotReady: ordinal 2 has been at AwaitReadiness for longer than 10s"},
		"paused":     {paused, "1/4 moved  mode Pause"},
		"completed":  {completedMigration(), "4/4 moved  completed: Moved"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := changeText(tc.m); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
