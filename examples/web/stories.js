// Today's stories. All of them are fetched, whichever stands first: a page that fetched only the chosen one would show the choice.

export const stories = [
  { topic: "politics", title: "Council votes to keep the night trams", text: "After a debate until midnight, the last trams stay, and so do their fares." },
  { topic: "science", title: "A comet returns after eight centuries", text: "It is visible low in the west for an hour after sunset, weather permitting." },
  { topic: "sport", title: "Rowers win by the length of an oar", text: "The home crew led from the bridge on, and nearly lost it at the lock." },
  { topic: "culture", title: "The lost overture is played again", text: "Found in a trunk last spring, it fills the old hall for three evenings." },
];
