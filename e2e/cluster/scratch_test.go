package cluster

import ("testing"; "os"; "context";"time"
appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
"fmt"
)

func TestScratch(t *testing.T) {
	bin := controlPlane(t)
	c, err := Start(t.Context(), Options{Name: "x", Binary: bin, Log: os.Stderr})
	if err != nil { t.Fatal(err) }
	c.StopAfter(t)
	client := clientOf(t, c)
	for i := range 5 {
	name := fmt.Sprintf("f%d", i)
	object := makeStatefulSet(name, 40)
	object.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	begin := time.Now(); client.AppsV1().StatefulSets(namespace).Create(t.Context(), object, metav1.CreateOptions{})
	eventually(t, "first pod is there", func(ctx context.Context) error {
		_, err := client.CoreV1().Pods(namespace).Get(ctx, fmt.Sprintf("%s-%d",name, 3*i), metav1.GetOptions{})
		return err
	})
	role := Etcd
	if os.Getenv("R") != "" { role = APIServer }
	if err := c.Kill(role); err != nil { t.Fatal(err) }
	if err := c.StartRole(t.Context(), role); err != nil { t.Fatal(err) }
	waitStatefulSet(t, client, name, 40)
	t.Log("round", i, time.Since(begin))
	}
}
