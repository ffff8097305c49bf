//! The parties of the tests in one process: a shuffler, its server and the line between them.

use super::*;

pub(super) const START: u64 = 1_700_000_000_000;
pub(super) const TICK: u64 = 60_000;

pub(super) fn plans(mode: &str, batch: u64, cap: u64) -> Vec<Plan> {
    plans_of(&text(mode, batch, cap))
}

pub(super) fn text(mode: &str, batch: u64, cap: u64) -> String {
    format!(
        r#"
        [loop.news]
        trust = "shuffler"
        privacy = {{ epsilon = 4.0, delta = 1e-3, visits = 1, per = "ever" }}
        learner = {{ tick = "1 minute" }}
        device = {{ late = "3 minutes" }}
        shuffle = {{ batch = {batch}, mode = "{mode}", cap = {cap} }}
        [loop.news.action]
        x = {{ range = [0, 1] }}
        "#
    )
}

/// Calibration takes a while: every plan is made once.
pub(super) fn plans_of(text: &str) -> Vec<Plan> {
    static MADE: Mutex<BTreeMap<String, Vec<Plan>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let make = || ServiceFile::parse(text).unwrap().check().unwrap();
    made.entry(text.to_string()).or_insert_with(make).clone()
}

pub(super) fn key(byte: u8) -> SealKey {
    Secret::from_bytes([byte; 32]).seal_key()
}

pub(super) fn seal(subject: &Subject, key: &SealKey, model: u64, values: &[f64]) -> Envelope {
    let mut noise = SecureNoise::from_system().unwrap();
    subject.seal(&mut noise, key.public(), model, values).unwrap()
}

/// A server in this process, which remembers what reached it.
pub(super) struct Server {
    pub(super) service: Arc<Service>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) key: SealKey,
    pub(super) received: Mutex<Vec<Vec<u8>>>,
    pub(super) calls: AtomicU64,
    /// A failure of calls.
    pub(super) fault: Mutex<FaultAfter>,
    /// News that it gives in place of the truth.
    pub(super) says: Mutex<Option<News>>,
}

impl Server {
    pub(super) async fn new(plans: &[Plan]) -> Arc<Self> {
        let (store, clock) = (MemoryStore::new([2; 16]), ManualClock::at(START));
        Self::open(plans, store.into(), clock.into(), key(2)).await
    }

    pub(super) async fn open(
        plans: &[Plan],
        store: Arc<MemoryStore>,
        clock: Arc<ManualClock>,
        key: SealKey,
    ) -> Arc<Self> {
        let (plans, opens) = (plans.to_vec(), Some(key.clone()));
        let service = Service::of_devices(plans, store.clone(), clock.clone(), opens).await;
        let (received, calls, fault, says) = Default::default();
        let service = service.unwrap();
        Arc::new(Server { service, store, clock, key, received, calls, fault, says })
    }

    pub(super) fn news(&self) -> News {
        let loop_ = self.loop_();
        News {
            model: loop_.served().number,
            next_batch: loop_.next_batch(),
            protocol: loop_.plan.subject().unwrap().protocol,
            key: (!loop_.plan.sums()).then(|| *self.key.public()),
        }
    }

    pub(super) fn loop_(&self) -> &Arc<Reports> {
        self.service.reports("news").unwrap()
    }

    pub(super) fn model(&self) -> Model {
        wire::from_json(&self.loop_().served().message).unwrap()
    }

    pub(super) async fn tick(&self) {
        self.clock.pass(TICK);
        self.service.tick("news").await.unwrap();
    }

    /// Outer ids of every batch that arrived, a batch that came again once.
    pub(super) fn batches(&self) -> Vec<Vec<[u8; 16]>> {
        let loop_ = self.loop_();
        let (subject, plan) = loop_.sealed_form().unwrap();
        let different: BTreeSet<Vec<u8>> = self.received.lock().unwrap().iter().cloned().collect();
        let read = |bytes: &Vec<u8>| SealedBatch::read(&subject, plan.params().batch, bytes);
        let mut batches: Vec<SealedBatch> =
            different.iter().map(|bytes| read(bytes).unwrap()).collect();
        batches.sort_by_key(|batch| batch.number);
        let numbers: Vec<u64> = batches.iter().map(|batch| batch.number).collect();
        assert_eq!(numbers, (0..batches.len() as u64).collect::<Vec<_>>(), "one batch a number");
        let ids = |batch: SealedBatch| batch.reports.into_iter().map(|(id, _)| id).collect();
        batches.into_iter().map(ids).collect()
    }
}

/// The way from the shuffler to the server.
pub(super) struct Line(Arc<Server>);

impl Line {
    pub(super) fn call<T: Send + 'static>(&self, answer: Pending<T>) -> Pending<T> {
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        let fault = self.0.fault.lock().unwrap().next();
        Box::pin(async move {
            let lost = || Error::Unavailable("injected failure of a call".into());
            match fault {
                Some(Fault::Before | Fault::Panic) => Err(lost()),
                Some(Fault::After) => answer.await.and(Err(lost())),
                None => answer.await,
            }
        })
    }
}

impl Upstream for Line {
    fn news(&self, _: &str) -> Pending<News> {
        let news = self.0.says.lock().unwrap().unwrap_or_else(|| self.0.news());
        self.call(Box::pin(async move { Ok(news) }))
    }

    fn send(&self, _: &str, batch: Body) -> Pending<()> {
        let server = Arc::clone(&self.0);
        self.call(Box::pin(async move {
            let (Body::Bytes(bytes) | Body::Json(bytes)) = batch;
            server.received.lock().unwrap().push(bytes.clone());
            server.service.take_batch(server.loop_(), bytes).await.map(drop)
        }))
    }
}

pub(super) struct World {
    pub(super) plans: Vec<Plan>,
    pub(super) server: Arc<Server>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) shuffler: Arc<Shuffler>,
}

impl World {
    pub(super) async fn new(mode: &str, batch: u64, cap: u64) -> Self {
        Self::of(plans(mode, batch, cap)).await
    }

    pub(super) async fn of(plans: Vec<Plan>) -> Self {
        let (server, store) = (Server::new(&plans).await, Arc::new(MemoryStore::new([3; 16])));
        let shuffler = open(&plans, &store, &server).await.unwrap();
        World { plans, server, store, shuffler }
    }

    pub(super) async fn restart(&mut self) {
        loop {
            if let Ok(shuffler) = open(&self.plans, &self.store, &self.server).await {
                self.shuffler = shuffler;
                return;
            }
        }
    }

    pub(super) fn loop_(&self) -> &Arc<ShuffleLoop> {
        self.shuffler.find("news").unwrap()
    }

    /// The sealed report of a new installation.
    pub(super) fn envelope(&self) -> Envelope {
        let plan = self.plans[0].reports().unwrap();
        let mut person =
            plan.shuffled().unwrap().person(SecureNoise::from_system().unwrap()).unwrap();
        let dimension = plan.features.dimension();
        let mut x = vec![0.0; dimension];
        x[0] = 0.5;
        let report = person.report(&self.server.model(), &x, 1.0).unwrap();
        let key = if plan.sums() { key(3) } else { self.server.key.clone() };
        seal(self.loop_().subject(), &key, report.model(), report.values())
    }

    pub(super) async fn take(&self, envelope: &Envelope, address: &str) -> Result<Taken> {
        self.shuffler.take("news", &envelope.bytes(), address).await
    }

    pub(super) async fn forward(&self) -> Result<Forwarded> {
        self.shuffler.forward("news").await
    }

    pub(super) async fn follow(&self) -> Result<()> {
        self.shuffler.follow("news").await
    }

    /// The server publishes this number of models, and the shuffler hears of each.
    pub(super) async fn tick(&self, models: u64) {
        for _ in 0..models {
            self.server.tick().await;
            self.follow().await.unwrap();
        }
    }

    /// `count` reports of new people, all of which are taken.
    pub(super) async fn take_new(&self, count: usize) -> Vec<Envelope> {
        let envelopes: Vec<Envelope> = (0..count).map(|_| self.envelope()).collect();
        for envelope in &envelopes {
            assert_eq!(self.take(envelope, "10.0.0.1").await.unwrap(), Taken::Taken);
        }
        envelopes
    }
}

pub(super) async fn open(
    plans: &[Plan],
    store: &Arc<MemoryStore>,
    server: &Arc<Server>,
) -> Result<Arc<Shuffler>> {
    let line = Arc::new(Line(Arc::clone(server)));
    let secrets = (key(3), Secret::from_bytes([4; 32]));
    let clock = server.clock.clone();
    let shuffler = Shuffler::open(plans.to_vec(), store.clone(), line, clock, secrets).await?;
    // As its task does at once; whether the server answers or not, it is open.
    let _ = shuffler.follow("news").await;
    Ok(shuffler)
}
